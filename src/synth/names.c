/* names.c - names of kernels as a compiler mangles them */
#include <stdio.h>

#include "synth/impl.h"

/* "void at::native::(anonymous namespace)::f<…>(…)" -> "at::native::(anonymous namespace)::f" */
size_t synth_kernel_name(const char **out, const char *name)
{
    static const char anonymous[] = "(anonymous namespace)";
    if (strncmp(name, "void ", 5) == 0) name += 5;
    *out = name;
    size_t size = 0;
    for (; name[size] && name[size] != '<'; size++) {
        if (name[size] != '(') continue;
        if (strncmp(name + size, anonymous, sizeof anonymous - 1) != 0) break;
        size += sizeof anonymous - 2;
    }
    return size;
}

/* One number replaces all arguments of the template, and parameters are left out: the names stay distinct. */
void synth_mangle(char *out, size_t room, synth_kernel_id kernel)
{
    const char *at;
    size_t size = synth_kernel_name(&at, synth_kernel_specs[kernel].name), used;
    const char *end = at + size;
    bool nested = memchr(at, ':', size) != NULL, template = *end == '<';
    used = (size_t)snprintf(out, room, "_Z%s", nested ? "N" : "");
    while (at < end) {
        const char *colon = memchr(at, ':', (size_t)(end - at)), *text = *at == '(' ? "_GLOBAL__N_1" : at;
        size_t part = *at == '(' ? strlen(text) : (size_t)((colon ? colon : end) - at);
        int more = snprintf(out + used, room - used, "%zu%.*s", part, (int)part, text);
        used += (size_t)more < room - used ? (size_t)more : 0;
        at = colon ? colon + 2 : end;
    }
    if (template)
        snprintf(out + used, room - used, "ILi%dEE%svv", (int)kernel, nested ? "E" : "");
    else
        snprintf(out + used, room - used, "%sv", nested ? "E" : "");
}
