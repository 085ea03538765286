/* patience.h - how long tests wait for what should come: a limit of time only guards against hangs (see patience.py) */
#ifndef HD_TESTS_PATIENCE_H
#define HD_TESTS_PATIENCE_H

#include <stdlib.h>

/* `seconds`, times the environment variable HEDDLE_TEST_PATIENCE where that is a number above 1. */
static inline double hd_test_patience(double seconds)
{
    const char *text = getenv("HEDDLE_TEST_PATIENCE");
    double factor = text ? strtod(text, NULL) : 1;
    return seconds * (factor > 1 ? factor : 1);
}

#endif
