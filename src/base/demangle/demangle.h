/* demangle.h - names of C++ (Itanium ABI: gcc, clang, nvcc, hipcc) and of Rust (v0) in plain text
 *
 * Written here and not taken from the C++ runtime, whose __cxa_demangle has no bound: a name of 100 bytes can stand for
 * gigabytes, and to link it would make a C++ runtime a need of every user of the library. Time and memory are bounded
 * whatever the name is: no single text becomes longer than 64 KiB, and all texts of a name share 4 MiB. The spelling is
 * that of libstdc++ but where its own is hard to read ("&(void f<int>(int))" is "&f<int>", ">>" behind an empty pack is
 * "> >").
 *
 * In: a mangled name. Out: text, or the name itself. Begin with demangle.c, which tells the schemes apart; name.c,
 * type.c and expression.c are the Itanium grammar, rust*.c is v0.
 */
#ifndef HD_BASE_DEMANGLE_DEMANGLE_H
#define HD_BASE_DEMANGLE_DEMANGLE_H

#include <stdbool.h>
#include <stddef.h>

/* Writes at most `capacity` bytes, not terminated, and returns how many; 0 for what is no mangled name, or one beyond
 * the bounds. *out_cut: the text was longer than there was room for. Suffixes of compilers stay: "f() [clone .isra.0]".
 */
size_t hd_demangle(char *out, size_t capacity, bool *out_cut, const char *name, size_t size);

#endif
