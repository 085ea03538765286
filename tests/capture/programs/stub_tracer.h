/* stub_tracer.h - see stub_tracer.c */
#ifndef HD_TESTS_CAPTURE_STUB_TRACER_H
#define HD_TESTS_CAPTURE_STUB_TRACER_H

/* Once a process. */
void stub_begin(const char *path, const char *options);
void stub_end(void);
extern unsigned stub_switches; /* calls of cuda_capture_set */

#endif
