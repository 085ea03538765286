/* budget.h - decides at which steps windows open, so that what they cost stays within a share of the time
 *
 * In: the beginnings and ends of steps with their times, and how long opening and closing took. Out: whether a step
 * belongs into a window, and what the windows cost so far. It reads no clock, takes no lock and allocates nothing:
 * steps.c calls it. docs/windows.md, "A budget", is the user documentation.
 */
#ifndef HD_CAPTURE_CUDA_WINDOW_BUDGET_H
#define HD_CAPTURE_CUDA_WINDOW_BUDGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    BUDGET_STEPS = 10,   /* of a window, but for the first one */
    BUDGET_FIRST = 2,    /* of the first window */
    BUDGET_WARM = 50,    /* steps before any window */
    BUDGET_OUTSIDE = 64, /* times of steps outside of windows that are kept, half of them from behind a window */
    BUDGET_EVERY = 64,   /* from one window to the next, at least */
    BUDGET_WINDOWS = 64, /* windows that are kept */
    BUDGET_TEXT = 192,
};

/* Zero-initialised, with the share set, it is ready. Times in ns. */
typedef struct budget {
    double share;   /* of the time, 0.01 */
    uint64_t every; /* windows begin at step numbers divisible by it; 0: not known yet */
    uint64_t steps, recorded, windows;
    uint64_t anomalies;         /* of the windows */
    int64_t first_ns, begin_ns; /* of the first step, and of the present one */
    uint32_t place;             /* of the present step: 0: outside, else from 1 in a window; behind it one more */
    uint32_t size;              /* steps of the last window */
    bool is_anomaly;            /* it was opened because steps were slow: their time says nothing about its cost */
    uint32_t until_measured;    /* steps outside, until the last window is compared with those around it; 0: it is */
    double step_paid_ns;        /* opening and closing, in the present step */

    double outside[BUDGET_OUTSIDE]; /* by number % BUDGET_OUTSIDE */
    uint64_t outside_count;
    double slow_ns;             /* a step that takes longer is slow */
    uint32_t slow_count;        /* slow steps in a row */
    double median_ns, noise_ns; /* of these, when that was last needed: what a step takes, and its deviation */

    /* Of the last window. */
    double inside[BUDGET_STEPS]; /* its steps after the first */
    uint32_t inside_count;
    double edges_ns; /* its first step and the one after the window */
    double paid_ns;  /* opening and closing */

    /* Of the last windows. */
    double edges[BUDGET_WINDOWS];  /* what their first step and the one after them cost */
    double others[BUDGET_WINDOWS]; /* and each other step */
    double whole[BUDGET_WINDOWS];  /* a window of BUDGET_STEPS steps, with opening and closing */
    uint64_t measured;             /* windows */
    uint64_t folded;               /* the first windows, anomalies as well, whose cost is in the next two */
    double folded_ns, folded_var;  /* of their steps, and its variance */
    double all_paid_ns;            /* opening and closing of all windows */
} budget;

/* A step begins. true: it belongs into a window, which is opened if none is open; else an open one is to be closed. */
bool budget_begins(budget *b, uint64_t number, int64_t now_ns);
/* It ends. true: and so does the window. */
bool budget_ends(const budget *b);
/* Opening or closing a window took so long in the present step. */
void budget_pay(budget *b, int64_t ns);

/* What the windows cost so far. */
typedef struct budget_sum {
    double spent_ns, error_ns; /* 95 %: spent - error to spent + error */
    int64_t time_ns;           /* since the first step, until the last one began */
} budget_sum;
budget_sum budget_spent(const budget *b);
/* "budget 1 %, spent 0.31 ± 0.06 %, 118 windows, 1,180 of 60,000 steps" */
void budget_text(char out[BUDGET_TEXT], const budget *b);

#endif
