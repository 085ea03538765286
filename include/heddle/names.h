/* names.h - names of functions and GPU kernels, demangled and shortened
 *
 * Into memory of the caller, so that any thread may ask. What is no name of C++ or Rust (v0) stays as it is.
 */
#ifndef HEDDLE_NAMES_H
#define HEDDLE_NAMES_H

#include "heddle/trace.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { HD_NAME_BYTES = 4096 }; /* what is longer when demangled is cut, and ends with "…" */

/* "_ZN2at6native3addIfEEvPT_" -> "void at::native::add<float>(float*)". Returns the size written, at most
 * HD_NAME_BYTES; not terminated. Itanium ABI names, those in "Kernel: " or "[GPU_Kernel]" prefixes not. */
size_t hd_name_demangle(char out[HD_NAME_BYTES], hd_string name);

/* The same without return type, template arguments and parameters: "at::native::add". Takes mangled and demangled
 * names; anonymous namespaces and ABI tags go, operators ("operator<<", "operator()") and lambdas ("{lambda#1}") stay;
 * names that are none of C++'s ("ampere_sgemm_128x64_tn", "Memcpy HtoD (Pageable -> Device)", "aten::add") are kept. */
size_t hd_name_short(char out[HD_NAME_BYTES], hd_string name);

/* A part of the name: "cudaLaunchKernel_v7000" -> "cudaLaunchKernel", without the version of the interface that CUPTI
 * knows calls of the runtime by. Those of the driver ("cuMemcpyHtoD_v2") are parts of their names, and stay. */
hd_string hd_name_without_version(hd_string name);

/* A part of the name: without what CUPTI injections put around it. "Kernel: _Z1kv" -> "_Z1kv", "Runtime:
 * cudaLaunchKernel_v7000" -> "cudaLaunchKernel", "MemCopy: HtoD" -> "HtoD"; others as they are. */
hd_string hd_name_plain(hd_string name);

/* The name that was probably meant by `typed`, by edit distance: call for each candidate, with *best NULL and *distance
 * UINT_MAX at first. *best stays as it is where the candidate is not near, or no nearer than the best. */
void hd_name_suggest(const char *typed, const char *candidate, const char **best, unsigned *distance);

#ifdef __cplusplus
}
#endif
#endif
