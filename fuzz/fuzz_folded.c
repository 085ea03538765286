/* fuzz_folded.c - libFuzzer target: folded stacks
 *
 * Properties: reading never crashes; what is read survives being written as JSON, sample by sample.
 */
#include <stdint.h>

#include "stack_dump.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    stack_fuzz((const char *)data, size, "folded");
    return 0;
}
