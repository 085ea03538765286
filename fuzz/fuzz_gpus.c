/* fuzz_gpus.c - libFuzzer target: tables of GPUs
 *
 * Properties: reading never crashes; what is refused says why and changes nothing; what is taken is taken again.
 */
#include <stdlib.h>
#include <string.h>

#include "report/gpus.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
    if (!holds) abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char first[] = "[[gpu]]\nnames = [\"a\"]\nbandwidth = 1\n";
    const hd_string name = {"a", 1};
    hd_error err = {0};
    hd_gpus *gpus;
    if (hd_gpus_new(&gpus, NULL) != HD_OK) return 0;
    require(hd_gpus_add_text(gpus, first, sizeof first - 1, "first", NULL) == HD_OK);
    hd_status status = hd_gpus_add_text(gpus, (const char *)data, size, "fuzz", &err);
    const report_gpu *gpu = report_gpu_find(gpus, name);
    require(gpu && gpu->bandwidth > 0);
    require((status == HD_OK) == (err.message[0] == '\0'));
    require(status == HD_OK || gpu->bandwidth == 1);
    require(hd_gpus_add_text(gpus, (const char *)data, size, "again", NULL) == status);
    hd_gpus_free(gpus);
    return 0;
}
