/* fuzz_otf2_anchor.c - libFuzzer target: the anchor file of an OTF2 archive, which we read ourselves
 *
 * Properties: nothing is read behind the end; what is taken has sizes that the library may allocate, and begins as the
 * sniffer wants it; what is refused says why. What the OTF2 library reads is run through by test_otf2_hostile.
 */
#include <stdlib.h>
#include <string.h>

#include "format/otf2/anchor.h"
#include "format/otf2/otf2.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
    if (!holds) abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    otf2_anchor anchor;
    hd_error err = {0};
    uint8_t *exact = malloc(size ? size : 1);
    require(exact != NULL);
    if (size) memcpy(exact, data, size);
    int bid = otf2_sniff(exact, size);
    hd_status status = otf2_anchor_parse(&anchor, exact, size, "fuzz", &err);
    require((status == HD_OK) == (err.status == HD_OK));
    if (status == HD_OK) {
        require(bid > 0);
        require(anchor.event_chunk_bytes >= 256 * 1024 && anchor.event_chunk_bytes <= 16 * 1024 * 1024);
        require(anchor.definition_chunk_bytes >= 256 * 1024 && anchor.definition_chunk_bytes <= 16 * 1024 * 1024);
        require(anchor.property_count <= size); /* two bytes each at least */
    } else {
        require(err.message[0] && err.offset <= size);
    }
    free(exact);
    return 0;
}
