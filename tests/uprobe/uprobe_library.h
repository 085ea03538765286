/* uprobe_library.h - what the traced program calls */
#ifndef HD_TESTS_UPROBE_LIBRARY_H
#define HD_TESTS_UPROBE_LIBRARY_H

#include <setjmp.h>

void launch_kernel(int value);
void launch_outer(int value);
void launch_slow(int microseconds);
void launch_jump(jmp_buf *where);
void launch_tail(int value);
extern int not_a_function;

#endif
