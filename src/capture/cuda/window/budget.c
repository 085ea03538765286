/* budget.c - the controller of a capture with a budget
 *
 * A window costs what its opening and closing take, which is measured by the clock, and what its steps take beyond the
 * median of those outside. Medians, since programs have slow steps of their own. Step times are those from one begin to
 * the next, so that nothing between steps is missed; the step after a window is counted with it, since what the window
 * left to do is done then.
 *
 * Two steps that are slower than six median absolute deviations beyond the median open a window at once, out of a
 * reserve. Its steps are slow by themselves, so it is assumed to cost what the others cost.
 */
#include <stdio.h>
#include <string.h>

#include "base/sorted.h"
#include "capture/cuda/window/budget.h"

/* Assumed before the first window: docs/cuda.md has the measurements. */
#define GUESS_SLOWER 0.3 /* of a step */
#define GUESS_FIRST_NS 30e6
#define GUESS_NS 5e6

/* The standard error of a median is that of the mean times this, and a normal distribution's deviation the median
 * absolute deviation times that. */
#define MEDIAN_ERROR 1.2533
#define MAD_SIGMA 1.4826

/* Of the share, what windows at slow steps may cost. */
#define RESERVE 0.25
#define SLOW_MADS 6

enum { SLOW_STEPS = 2 /* in a row */ };
enum { SURE = 4 /* windows, before their own spread is used and N is doubled */ };

static double root(double square)
{
    double x = square > 1 ? square : 1; /* Newton's method: the library depends on libc alone */
    for (double next; square > 0 && (next = (x + square / x) / 2) < x;) x = next;
    return square > 0 ? x : 0;
}

static double median(const double *list, size_t count)
{
    enum { MOST = BUDGET_OUTSIDE > BUDGET_WINDOWS ? BUDGET_OUTSIDE : BUDGET_WINDOWS };
    double sorted[MOST], spare[MOST];
    if (!count) return 0;
    memcpy(sorted, list, count * sizeof *sorted);
    HD_SORT_RUNS(sorted, spare, count, x, y, *x < *y);
    return (sorted[(count - 1) / 2] + sorted[count / 2]) / 2;
}

/* The deviation, by the median of the absolute ones. */
static double deviation(const double *list, size_t count, double middle)
{
    double away[BUDGET_OUTSIDE];
    for (size_t i = 0; i < count; i++) away[i] = list[i] < middle ? middle - list[i] : list[i] - middle;
    return MAD_SIGMA * median(away, count);
}

static size_t least(uint64_t count, size_t most)
{
    return count < most ? (size_t)count : most;
}

/* ---- what a window costs ---- */

static size_t kept(const budget *b)
{
    return least(b->measured, BUDGET_WINDOWS);
}

/* The error of the median window, 95 %. With the noise of steps outside alone, windows would deviate by `model`: two
 * single steps, 9 times the median of 9, and 11 times that of the 64 outside. */
static double error_of_window(const budget *b)
{
    const double inside = BUDGET_STEPS - 1, all = BUDGET_STEPS + 1, count = (double)kept(b);
    double model = b->noise_ns * root(2 + MEDIAN_ERROR * MEDIAN_ERROR * (inside + all * all / BUDGET_OUTSIDE));
    double spread = kept(b) < SURE ? 0 : deviation(b->whole, kept(b), median(b->whole, kept(b)));
    return 1.96 * (1 + 1 / count) * MEDIAN_ERROR * (spread > model ? spread : model) / root(count);
}

/* Of the steps of the windows that are not folded. Only the first window is shorter. */
static double cost_of_steps(const budget *b, uint64_t windows)
{
    uint64_t others = windows * (BUDGET_STEPS - 1);
    if (!b->folded && windows) others -= BUDGET_STEPS - BUDGET_FIRST;
    return (double)windows * median(b->edges, kept(b)) + (double)others * median(b->others, kept(b));
}

budget_sum budget_spent(const budget *b)
{
    budget_sum out = {.time_ns = b->begin_ns - b->first_ns};
    if (!b->measured) return out;
    uint64_t windows = b->windows - b->folded; /* with one that is not measured yet */
    double error = (double)windows * error_of_window(b), steps = b->folded_ns + cost_of_steps(b, windows);
    double paid = b->all_paid_ns + (b->place ? b->paid_ns + b->step_paid_ns : 0);
    out.spent_ns = paid + (steps > 0 ? steps : 0);
    out.error_ns = root(b->folded_var + error * error);
    return out;
}

/* The upper bound of one more window. */
static double next_window(const budget *b)
{
    if (!b->measured) return GUESS_FIRST_NS + GUESS_SLOWER * (BUDGET_FIRST + 1) * b->median_ns;
    double whole = median(b->whole, kept(b));
    return (whole > 0 ? whole : 0) + error_of_window(b);
}

static void look_outside(budget *b)
{
    size_t count = least(b->outside_count, BUDGET_OUTSIDE);
    b->median_ns = median(b->outside, count);
    b->noise_ns = deviation(b->outside, count, b->median_ns);
    b->slow_ns = b->median_ns + SLOW_MADS / MAD_SIGMA * b->noise_ns;
}

/* By what was last looked at; at the last one of a row by the steps around: a program may have become slower. */
static void count_slow(budget *b, double took_ns)
{
    bool is_slow = b->every && took_ns > b->slow_ns;
    if (is_slow && b->slow_count + 1 == SLOW_STEPS) {
        look_outside(b);
        is_slow = took_ns > b->slow_ns;
    }
    b->slow_count = is_slow ? b->slow_count + 1 : 0;
}

/* Steps before and behind the last window are known, so that a program that becomes slower is not taken for a cost. */
static void measure_window(budget *b)
{
    look_outside(b);
    if (b->is_anomaly) return;
    size_t at = b->measured++ % BUDGET_WINDOWS;
    b->edges[at] = b->edges_ns - 2 * b->median_ns;
    b->others[at] = median(b->inside, b->inside_count) - b->median_ns;
    b->whole[at] = b->edges[at] + (BUDGET_STEPS - 1) * b->others[at] + b->paid_ns;
    while (b->measured >= SURE && b->every < UINT64_MAX / 2 &&
           next_window(b) > (1 - RESERVE) * b->share * (double)b->every * b->median_ns)
        b->every *= 2;
    if (b->measured % BUDGET_WINDOWS) return;
    double error = (double)(b->windows - b->folded) * error_of_window(b);
    b->folded_ns += cost_of_steps(b, b->windows - b->folded);
    b->folded_var += error * error;
    b->folded = b->windows;
}

/* ---- steps ---- */

/* The present step took so long, without opening and closing. */
static void measure_step(budget *b, double took_ns)
{
    if (b->place == 0) {
        b->outside[b->outside_count++ % BUDGET_OUTSIDE] = took_ns;
        count_slow(b, took_ns);
        if (b->until_measured && --b->until_measured == 0) measure_window(b);
    } else if (b->place == 1 || b->place > b->size) {
        b->edges_ns += took_ns;
    } else {
        b->inside[b->inside_count++] = took_ns;
    }
    if (b->place > b->size) {
        b->place = 0;
        b->all_paid_ns += b->paid_ns;
        b->until_measured = BUDGET_OUTSIDE / 2;
    }
}

/* N, from the first steps alone. */
static uint64_t first_every(const budget *b)
{
    double cost = GUESS_NS + GUESS_SLOWER * (BUDGET_STEPS + 1) * b->median_ns;
    uint64_t every = BUDGET_EVERY;
    for (; every < UINT64_MAX / 4 && cost > (1 - RESERVE) * b->share * (double)every * b->median_ns;) every *= 2;
    return every;
}

/* Whether one more window is within the budget. */
static bool has_room(const budget *b)
{
    budget_sum sum = budget_spent(b);
    return sum.spent_ns + sum.error_ns + next_window(b) <= b->share * (double)sum.time_ns;
}

static bool opens(budget *b, uint64_t number)
{
    bool is_waiting = b->until_measured && !b->is_anomaly;
    if (b->outside_count < BUDGET_WARM || is_waiting || (b->every && number % b->every != 0)) return false;
    look_outside(b);
    if (!b->every) b->every = first_every(b);
    if (number % b->every != 0 || b->median_ns <= 0) return false;
    return has_room(b);
}

/* At slow steps, if it is known what a window costs, and the reserve has so much left. The next window at a multiple of
 * N is not given up for it, which all ranks have. */
static bool opens_at_anomaly(const budget *b, uint64_t number)
{
    if (b->slow_count < SLOW_STEPS || b->anomalies >= b->measured || b->until_measured) return false;
    if (number % b->every + BUDGET_STEPS + 1 >= b->every) return false;
    double most = RESERVE * b->share * (double)(b->begin_ns - b->first_ns);
    return (double)(b->anomalies + 1) * next_window(b) <= most && has_room(b);
}

bool budget_begins(budget *b, uint64_t number, int64_t now_ns)
{
    if (!b->steps) b->first_ns = now_ns;
    b->paid_ns += b->step_paid_ns;
    if (b->steps++) measure_step(b, (double)(now_ns - b->begin_ns) - b->step_paid_ns);
    bool is_slow = false;
    b->begin_ns = now_ns;
    b->step_paid_ns = 0;
    if (b->place) {
        b->place++;
    } else if (opens(b, number) || (is_slow = opens_at_anomaly(b, number))) {
        b->place = 1;
        b->slow_count = 0;
        b->is_anomaly = is_slow;
        b->anomalies += is_slow;
        b->size = b->windows++ ? BUDGET_STEPS : BUDGET_FIRST;
        b->inside_count = 0;
        b->edges_ns = b->paid_ns = 0;
    }
    bool is_within = b->place && b->place <= b->size;
    b->recorded += is_within;
    return is_within;
}

bool budget_ends(const budget *b)
{
    return b->place == b->size && b->place;
}

void budget_pay(budget *b, int64_t ns)
{
    b->step_paid_ns += (double)ns;
}

/* ---- the text ---- */

/* 1180 -> "1,180" */
static const char *with_commas(char out[32], uint64_t number)
{
    char digits[24];
    size_t count = (size_t)snprintf(digits, sizeof digits, "%llu", (unsigned long long)number), at = 0;
    for (size_t i = 0; i < count; i++) {
        if (i && (count - i) % 3 == 0) out[at++] = ',';
        out[at++] = digits[i];
    }
    out[at] = '\0';
    return out;
}

void budget_text(char out[BUDGET_TEXT], const budget *b)
{
    char recorded[32], steps[32], slow[48] = "", spent[48] = "cost not measured";
    budget_sum sum = budget_spent(b);
    double percent = sum.time_ns > 0 ? 100 / (double)sum.time_ns : 0;
    if (!b->windows) snprintf(spent, sizeof spent, "nothing spent");
    if (b->measured)
        snprintf(spent, sizeof spent, "spent %.2f ± %.2f %%", sum.spent_ns * percent, sum.error_ns * percent);
    if (b->anomalies) snprintf(slow, sizeof slow, " (%llu at slow steps)", (unsigned long long)b->anomalies);
    snprintf(out, BUDGET_TEXT, "budget %g %%, %s, %llu window%s%s, %s of %s steps", 100 * b->share, spent,
             (unsigned long long)b->windows, b->windows == 1 ? "" : "s", slow, with_commas(recorded, b->recorded),
             with_commas(steps, b->steps));
}
