/* sample.h - what sample.c, a library that tests look at, says of itself */
#ifndef HD_TESTS_SAMPLE_H
#define HD_TESTS_SAMPLE_H

enum { SAMPLE_PLACES = 8 };

typedef struct sample_place {
    const void *address; /* behind a call */
    int lines[3];        /* in sample_inner, sample_middle and sample_outer; 0: not in it */
} sample_place;

/* Five of them: in sample_outer itself, and twice two times in sample_inner. */
int sample_list(const sample_place **out);
void sample_outer(void);

#endif
