/* demangle.h - names of C++ (Itanium ABI: gcc, clang, nvcc, hipcc) and of Rust (v0) in plain text
 *
 * Replaces __cxa_demangle of the C++ runtime, which has no bound: a name of 100 bytes can expand to gigabytes, and
 * linking it would make every user of the library depend on a C++ runtime. Time and memory are bounded for every name:
 * no text becomes longer than 64 KiB, and all texts of a name share 4 MiB. The spelling is that of libstdc++ except
 * where that is hard to read ("&(void f<int>(int))" is "&f<int>", ">>" after an empty pack is "> >").
 *
 * In: a mangled name. Out: text, or the name itself. Begin with demangle.c, which distinguishes the schemes; name.c,
 * type.c and expression.c are the Itanium grammar, rust*.c is v0.
 */
#ifndef HD_BASE_DEMANGLE_DEMANGLE_H
#define HD_BASE_DEMANGLE_DEMANGLE_H

#include <stdbool.h>
#include <stddef.h>

/* Writes at most `capacity` bytes, not terminated, and returns their number; 0: not a mangled name, or beyond the
 * bounds. *out_cut: the text was longer than `capacity`. Compiler suffixes are kept: "f() [clone .isra.0]".
 */
size_t hd_demangle(char *out, size_t capacity, bool *out_cut, const char *name, size_t size);

#endif
