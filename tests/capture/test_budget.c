/* test_budget.c - the controller of a capture with a budget, in simulated jobs
 *
 * The simulation knows the time that windows truly add, which the controller has to find out from the times of steps.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "capture/cuda/window/budget.h"

/* ---- random numbers ---- */

static uint64_t state;

static uint64_t random_bits(void) /* splitmix64 */
{
    uint64_t z = state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static double uniform(double low, double high)
{
    return low + (high - low) * (double)(random_bits() >> 11) / 9007199254740992.0;
}

/* About normal: the sum of four. */
static double normal(void)
{
    uint64_t bits = random_bits();
    double sum = 0;
    for (int i = 0; i < 4; i++, bits >>= 16) sum += (double)(bits & 0xffff) / 65536.0 - 0.5;
    return sum * 1.7320508;
}

/* ---- a job ---- */

enum { RANKS = 64, BEFORE = 36, BEHIND = 48 };

typedef struct job {
    budget ranks[RANKS];
    unsigned count;                                   /* of ranks */
    double step_ns, noise, slow_share, drift, jitter; /* of the program; shares of a step */
    double slower, first_ns, behind_ns;               /* what recording adds to steps */
    double attach_first_ns, attach_ns, detach_ns;
    uint64_t steps, step;
    double now_ns, true_cost_ns;
    unsigned opened, after; /* ranks that record the present step; steps behind a window */
    bool has_attached;
    uint64_t in_all, in_some; /* windows of all ranks, and of some only */
    uint64_t anomalies;       /* windows of single ranks */
    bool is_lattice;          /* no rank opens where one with a smaller N does not */
} job;

/* A step of the program as it would be alone: all ranks wait for each other in it. */
static double alone_ns(const job *j)
{
    double drifted = j->step_ns * (1 + j->drift * (double)j->step / (double)j->steps);
    double factor = 1 + j->noise * normal();
    if (uniform(0, 1) < j->slow_share) factor *= uniform(1.5, 8);
    return drifted * (factor > 0.2 ? factor : 0.2);
}

/* All ranks begin a step, a little apart. Returns how many are in a window, and which begin one. */
static void begin_step(job *j, bool *begins)
{
    unsigned within = 0, beginning = 0;
    uint64_t bits = 0, largest = 0;
    for (unsigned r = 0; r < j->count; r++, bits >>= 8) {
        if (r % 8 == 0) bits = random_bits();
        budget *b = &j->ranks[r];
        double late = j->jitter * j->step_ns * (double)(bits & 0xff) / 256;
        bool is_within = budget_begins(b, j->step, (int64_t)(j->now_ns + late));
        bool is_regular = is_within && b->place == 1 && !b->is_anomaly;
        begins[r] = is_within && b->place == 1;
        within += is_within;
        beginning += is_regular;
        j->anomalies += begins[r] && b->is_anomaly;
        if (is_regular && b->every > largest) largest = b->every;
    }
    if (beginning) j->is_lattice &= j->step % largest == 0;
    j->in_all += beginning == j->count;
    j->in_some += beginning != 0 && beginning != j->count;
    j->after = j->opened && !within ? 1 : 0;
    j->opened = within;
}

/* The job waits for the slowest rank. */
static void run_step(job *j)
{
    bool begins[RANKS];
    begin_step(j, begins);
    double extra = 0, attached = 0, detached = 0;
    double attach = j->has_attached ? j->attach_ns * uniform(0.5, 1.5) : j->attach_first_ns;
    double took = alone_ns(j);
    if (j->opened) extra = j->step_ns * j->slower * uniform(0.8, 1.2);
    if (j->after) extra = j->behind_ns * uniform(0.5, 1.5);
    for (unsigned r = 0; r < j->count; r++) {
        budget *b = &j->ranks[r];
        double own = uniform(0.9, 1);
        if (begins[r]) {
            budget_pay(b, (int64_t)(attach * own));
            if (attach * own > attached) attached = attach * own;
        }
        if (budget_ends(b)) {
            budget_pay(b, (int64_t)(j->detach_ns * own));
            if (j->detach_ns * own > detached) detached = j->detach_ns * own;
        }
        if (!j->opened) break;
    }
    if (attached > 0) extra += j->first_ns;
    if (attached > 0) j->has_attached = true;
    j->true_cost_ns += extra + attached + detached;
    j->now_ns += took + extra + attached + detached;
    j->step++;
}

/* Steps far from any that could begin a window are passed over at once: their numbers and their time. */
static void pass_over(job *j)
{
    uint64_t every = UINT64_MAX;
    if (j->step % BUDGET_EVERY != BEHIND) return;
    for (unsigned r = 0; r < j->count; r++)
        if (j->ranks[r].every < every) every = j->ranks[r].every;
    if (!every || j->step % every >= every - BEFORE) return;
    uint64_t count = every - BEFORE - j->step % every;
    j->now_ns += (double)count * j->step_ns * (1 + j->drift * (double)j->step / (double)j->steps);
    j->step += count;
}

static job make_job(uint64_t seed)
{
    static const double shares[] = {0.005, 0.01, 0.02, 0.05}, lengths[] = {5.73e6, 50e6, 400e6};
    state = seed * 7919;
    job j = {.is_lattice = true, .count = RANKS};
    double share = shares[random_bits() % 4];
    for (unsigned r = 0; r < j.count; r++) j.ranks[r].share = share;
    j.step_ns = lengths[random_bits() % 3];
    j.noise = uniform(0.002, 0.08);
    j.slow_share = uniform(0, 0.02);
    j.drift = uniform(-0.3, 0.6);
    j.jitter = uniform(0, 0.005);
    j.slower = uniform(0.02, 0.3);
    j.first_ns = uniform(0, 3e6);
    j.behind_ns = uniform(0, 2e6);
    j.attach_first_ns = uniform(10e6, 20e6);
    j.attach_ns = uniform(0.01e6, 3e6);
    j.detach_ns = uniform(0.5e6, 2.5e6);
    double window_ns = 5e6 + 3.3 * j.step_ns;
    j.steps = (uint64_t)(uniform(2, 7) * window_ns / (0.75 * share * j.step_ns)) + 200;
    return j;
}

static void run_job(job *j)
{
    while (j->step < j->steps) {
        run_step(j);
        pass_over(j);
    }
}

/* ---- tests ---- */

static void test_budget__it_holds_in_simulated_jobs_of_64_ranks(void **unused)
{
    enum { RUNS = 1000 };
    unsigned held = 0, covered = 0, measured = 0, below = 0, same = 0, with_windows = 0;
    uint64_t all = 0, some = 0, anomalies = 0;
    (void)unused;
    for (uint64_t seed = 1; seed <= RUNS; seed++) {
        static job j;
        j = make_job(seed);
        run_job(&j);
        unsigned most = 0;
        for (unsigned r = 1; r < j.count; r++)
            if (j.ranks[r].windows > j.ranks[most].windows) most = r;
        budget_sum sum = budget_spent(&j.ranks[most]);
        double error = sum.spent_ns - j.true_cost_ns;
        held += j.true_cost_ns <= j.ranks[0].share * j.now_ns;
        with_windows += j.in_all + j.in_some != 0;
        bool is_sure = j.ranks[most].measured >= 4; /* of fewer windows one slow step may be a third of all */
        measured += is_sure;
        covered += is_sure && error <= sum.error_ns && -error <= sum.error_ns;
        below += -error <= sum.error_ns;
        anomalies += j.anomalies;
        same += j.in_some == 0;
        all += j.in_all;
        some += j.in_some;
        assert_true(j.is_lattice);
    }
    print_message(
        "held in %u of %d; cost below its upper bound in %u, within its interval in %u of %u with four "
        "windows or more; windows of all ranks equal in %u, %llu of %llu windows; at slow steps %.1f a rank\n",
        held, RUNS, below, covered, measured, same, (unsigned long long)all, (unsigned long long)(all + some),
        (double)anomalies / RANKS);
    assert_true(held >= RUNS * 99 / 100);
    assert_true(with_windows >= RUNS * 80 / 100);
    assert_true(measured >= RUNS / 4 && covered >= measured * 95 / 100);
    assert_true(below >= RUNS * 97 / 100);
    assert_true(same >= RUNS * 98 / 100 && some * 99 <= all);
}

static void test_budget__long_jobs_are_measured_as_well(void **unused)
{
    enum { RUNS = 40 };
    unsigned covered = 0, held = 0, folded = 0;
    (void)unused;
    for (uint64_t seed = 1; seed <= RUNS; seed++) {
        static job j;
        j = make_job(seed);
        j.count = 1;
        j.steps = 20 * j.steps < 60000 ? 20 * j.steps : 60000;
        run_job(&j);
        budget_sum sum = budget_spent(&j.ranks[0]);
        double error = sum.spent_ns - j.true_cost_ns;
        held += j.true_cost_ns <= j.ranks[0].share * j.now_ns;
        covered += error <= sum.error_ns && -error <= sum.error_ns;
        folded += j.ranks[0].folded != 0;
        assert_true(sum.error_ns < sum.spent_ns);
    }
    print_message("held in %u of %d, cost within its interval in %u, more than %d windows in %u\n", held, RUNS, covered,
                  BUDGET_WINDOWS, folded);
    assert_true(held == RUNS && covered >= RUNS * 9 / 10 && folded >= RUNS / 4);
}

/* Ten times as slow as assumed: the first window is over the budget, and time makes up for it. */
static void test_budget__what_is_dearer_than_assumed_has_fewer_windows(void **unused)
{
    (void)unused;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        static job j;
        j = make_job(seed);
        j.count = 1;
        j.slower *= 10;
        j.attach_ns *= 10;
        j.attach_first_ns *= 10;
        uint64_t every = 0;
        double first_ns = 0;
        j.steps = 60000;
        while (j.step < j.steps) {
            budget *b = &j.ranks[0];
            run_step(&j);
            if (!every) every = b->every;
            if (b->windows == 1) first_ns = j.true_cost_ns;
            double most = b->share * j.now_ns;
            assert_true(j.true_cost_ns <= (most > first_ns ? most : first_ns));
            pass_over(&j);
        }
        assert_true(j.ranks[0].every >= every && j.ranks[0].windows > 1);
    }
}

static void test_budget__numbers_that_begin_again_do_not_make_more_windows(void **unused)
{
    static budget b;
    double now_ns = 0;
    unsigned within = 0;
    (void)unused;
    b = (budget){.share = 0.01};
    for (uint64_t step = 0; step < 20000; step++) { /* epochs of 100 steps: 0 is divisible by every N */
        bool is_within = budget_begins(&b, step % 100, (int64_t)now_ns);
        now_ns += 10e6;
        within += is_within;
        if (is_within) now_ns += 1e6;
        if (budget_ends(&b)) budget_pay(&b, 1000000), now_ns += 1e6;
    }
    budget_sum sum = budget_spent(&b);
    assert_int_equal(within, BUDGET_FIRST + BUDGET_STEPS * (b.windows - 1));
    assert_true(b.windows > 10);
    assert_true(sum.spent_ns <= 0.01 * (double)sum.time_ns);
    assert_true(sum.spent_ns > 0.99 * (double)(within * 1e6 + b.windows * 1e6));
    assert_true(sum.spent_ns < 1.01 * (double)(within * 1e6 + b.windows * 1e6));
}

/* Steps of 10 ms, of which those from 5,000 on are slow; then of 15 ms. */
static void test_budget__slow_steps_open_a_window_at_once_out_of_a_reserve(void **unused)
{
    enum { SLOW = 5000, SLOW_END = 5015, SLOWER = 8000, STEPS = 12000 };
    static budget b;
    double now_ns = 0, cost_ns = 0;
    unsigned opened = 0, at_slow = 0;
    char text[BUDGET_TEXT];
    (void)unused;
    state = 1;
    b = (budget){.share = 0.01};
    for (uint64_t step = 0; step < STEPS; step++) {
        bool was_within = b.place && !budget_ends(&b);
        bool is_within = budget_begins(&b, step, (int64_t)now_ns);
        opened += is_within && !was_within;
        if (b.place == 1 && b.is_anomaly) {
            at_slow++;
            assert_true(step == SLOW + 2 || (step > SLOWER + 1 && step < SLOWER + BUDGET_OUTSIDE));
        }
        double took = (step < SLOWER ? 10e6 : 15e6) * (1 + 0.01 * normal());
        if (step >= SLOW && step < SLOW_END) took *= 3;
        cost_ns += is_within ? 1e6 : 0;
        now_ns += took + (is_within ? 1e6 : 0);
    }
    budget_sum sum = budget_spent(&b);
    assert_int_equal(at_slow, b.anomalies);
    assert_in_range(at_slow, 2, 3); /* a program that becomes slower is one, until its steps are known */
    assert_int_equal(opened, b.windows);
    assert_true(sum.spent_ns - cost_ns <= sum.error_ns && cost_ns - sum.spent_ns <= sum.error_ns);
    assert_true(cost_ns <= 0.01 * now_ns);
    budget_text(text, &b);
    assert_non_null(strstr(text, at_slow == 2 ? " windows (2 at slow steps), " : " windows (3 at slow steps), "));
}

static void test_budget__the_text_says_budget_cost_windows_and_steps(void **unused)
{
    char text[BUDGET_TEXT];
    static budget b;
    double now_ns = 0;
    (void)unused;
    b = (budget){.share = 0.005};
    budget_text(text, &b);
    assert_string_equal(text, "budget 0.5 %, nothing spent, 0 windows, 0 of 0 steps");
    for (uint64_t step = 0; step <= 10240; step++, now_ns += 1e9) {
        if (budget_begins(&b, step, (int64_t)now_ns)) now_ns += 1e8;
    }
    budget_text(text, &b);
    assert_int_equal(b.every, 1024);
    assert_string_equal(text, "budget 0.5 %, spent 0.09 ± 0.00 %, 10 windows, 83 of 10,241 steps");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_budget__long_jobs_are_measured_as_well),
        cmocka_unit_test(test_budget__what_is_dearer_than_assumed_has_fewer_windows),
        cmocka_unit_test(test_budget__numbers_that_begin_again_do_not_make_more_windows),
        cmocka_unit_test(test_budget__slow_steps_open_a_window_at_once_out_of_a_reserve),
        cmocka_unit_test(test_budget__the_text_says_budget_cost_windows_and_steps),
        cmocka_unit_test(test_budget__it_holds_in_simulated_jobs_of_64_ranks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
