/* fuzz_names.c - libFuzzer target: demangled and short names
 *
 * Properties: nothing is written behind the room; a mangled name and its demangled form have one short name, unless
 * what was demangled is a mangled name again.
 */
#include <stdlib.h>
#include <string.h>

#include "heddle/names.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
    if (!holds) abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    hd_string name = {(const char *)data, size};
    static char out[HD_NAME_BYTES], again[HD_NAME_BYTES]; /* the sanitizer guards them as it guards a heap's */
    size_t demangled = hd_name_demangle(out, name);
    require(demangled <= HD_NAME_BYTES);
    require(size == 0 || demangled > 0);
    bool is_mangled_again = demangled > 1 && out[0] == '_' && (out[1] == 'Z' || out[1] == 'R');
    size_t of_demangled = hd_name_short(again, (hd_string){out, demangled});
    require(of_demangled <= HD_NAME_BYTES);
    size_t shortened = hd_name_short(out, name);
    require(shortened <= HD_NAME_BYTES);
    if (size > 2 && memcmp(data, "_Z", 2) == 0 && demangled < HD_NAME_BYTES && !is_mangled_again)
        require(shortened == of_demangled && memcmp(out, again, shortened) == 0);
    require(hd_name_label(again, name) <= HD_NAME_BYTES);
    return 0;
}
