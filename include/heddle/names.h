/* names.h - names of functions and GPU kernels, demangled and shortened
 *
 * Functions write into the caller's memory and may be called by any thread. A text that is not a mangled C++ or Rust
 * (v0) name stays as it is.
 */
#ifndef HEDDLE_NAMES_H
#define HEDDLE_NAMES_H

#include "heddle/trace.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { HD_NAME_BYTES = 4096 }; /* longer demangled names are cut and end with "…" */

/* "_ZN2at6native3addIfEEvPT_" -> "void at::native::add<float>(float*)". Returns the size written, at most
 * HD_NAME_BYTES; not terminated. Demangles names of the Itanium ABI, but not behind the prefixes "Kernel: " or
 * "[GPU_Kernel]". */
size_t hd_name_demangle(char out[HD_NAME_BYTES], hd_string name);

/* The same without return type, template arguments and parameters: "at::native::add". Takes mangled and demangled
 * names; anonymous namespaces and ABI tags are removed, operators ("operator<<", "operator()") and lambdas
 * ("{lambda#1}") stay; names that are not C++ ("ampere_sgemm_128x64_tn", "Memcpy HtoD (Pageable -> Device)",
 * "aten::add") are kept. */
size_t hd_name_short(char out[HD_NAME_BYTES], hd_string name);

/* The short name with the first words of its template arguments, which distinguish instances of one template: "void
 * at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>, std::array<char*, 1ul> >(…)" ->
 * "at::native::vectorized_elementwise_kernel<FillFunctor, float>". Numbers, namespaces and what is of std are left out;
 * a name without such words is the short name. */
size_t hd_name_label(char out[HD_NAME_BYTES], hd_string name);

/* A part of the name: "cudaLaunchKernel_v7000" -> "cudaLaunchKernel", without the interface version that CUPTI appends
 * to runtime calls. The versions of driver calls ("cuMemcpyHtoD_v2") are part of the name and stay. */
hd_string hd_name_without_version(hd_string name);

/* A part of the name, without the prefix that CUPTI injections add. "Kernel: _Z1kv" -> "_Z1kv", "Runtime:
 * cudaLaunchKernel_v7000" -> "cudaLaunchKernel", "MemCopy: HtoD" -> "HtoD"; others as they are. */
hd_string hd_name_plain(hd_string name);

/* Whether a step's name is one that the user chose: "12" chooses ProfilerStep#12, "10:12" ProfilerStep#10 to #12; any
 * other text chooses the step whose whole name it is. */
bool hd_step_is_chosen(hd_string name, const char *chosen);

/* Finds the candidate that `typed` probably meant, by edit distance: call it for each candidate, with *best NULL and
 * *distance UINT_MAX at first. *best changes only if the candidate is near `typed` and nearer than the best one. */
void hd_name_suggest(const char *typed, const char *candidate, const char **best, unsigned *distance);

#ifdef __cplusplus
}
#endif
#endif
