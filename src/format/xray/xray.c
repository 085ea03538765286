/* xray.c - the descriptor of XRay for the list of formats, and detection */
#include "format/xray/xray.h"

/* ---- what a file is ---- */

/* A header without a magic number: version, type and clock must be plausible, and so must the following record. */
static bool is_header(const unsigned char *head)
{
    static const uint64_t SLOWEST = 1000, FASTEST = UINT64_C(100000000000);
    uint64_t version = hd_le_get(head, 2), type = hd_le_get(head + 2, 2), hertz = hd_le_get(head + 8, 8);
    return type <= 1 && version >= 1 && version <= (type ? 5 : 3) && (!hertz || (hertz >= SLOWEST && hertz <= FASTEST));
}

static bool is_naive_record(const unsigned char *record)
{
    uint64_t type = hd_le_get(record, 2), function = hd_le_get(record + 4, 4);
    return type <= 1 && record[3] <= XRAY_ENTER_ARG && function && function < 1 << 28;
}

static int xray_sniff(const unsigned char *head, size_t size)
{
    enum { RECORD = 32, LOOKS = 2, NEW_BUFFER = 1, EXTENTS = 15 };
    size_t looked = 0, at = XRAY_HEADER_BYTES;
    if (size <= XRAY_HEADER_BYTES || !is_header(head)) return 0;
    if (hd_le_get(head + 2, 2) == 1) return head[at] == (hd_le_get(head, 2) < 3 ? NEW_BUFFER : EXTENTS) ? 90 : 0;
    for (; looked < LOOKS && at + RECORD <= size; at += RECORD, looked++)
        if (!is_naive_record(head + at)) return 0;
    return looked ? 85 : 0;
}

const hd_format hd_xray_format = {
    .info = {.name = "xray",
             .title = "LLVM XRay logs, basic and flight data recorder",
             .extensions = ".xray",
             .reads = true,
             .keeps = "everything; picoseconds",
             .loses = "nothing"},
    .sniff = xray_sniff,
    .read = xray_read,
    .takes_binary = true,
};
