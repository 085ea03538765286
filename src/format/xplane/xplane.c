/* xplane.c - the descriptor of XPlane for the list of formats, and detection */
#include "format/xplane/xplane.h"

/* ---- what a file is ---- */

static bool begins(const unsigned char *data, size_t size, const char *word)
{
    size_t length = strlen(word);
    return size >= length && memcmp(data, word, length) == 0;
}

static bool is_plane_name(const unsigned char *name, size_t size)
{
    static const char *const words[] = {"/host:", "/device:", "Task Environment", "/job:", "#Chrome"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (begins(name, size, words[i])) return true;
    }
    return false;
}

static bool next_varint(uint64_t *out, size_t *at, const unsigned char *head, size_t size, uint32_t tag)
{
    if (*at >= size || head[*at] != tag) return false;
    (*at)++;
    return hd_proto_varint(out, head, size, at);
}

bool xplane_is_plane(const unsigned char *head, size_t size)
{
    size_t at = 0;
    uint64_t length, id, name;
    if (!next_varint(&length, &at, head, size, HD_PROTO_BYTES(1)) || length < 2) return false;
    size_t begin = at;
    next_varint(&id, &at, head, size, HD_PROTO_VARINT(1));
    if (!next_varint(&name, &at, head, size, HD_PROTO_BYTES(2)) || name > length - (at - begin)) return false;
    return is_plane_name(head + at, size - at < name ? size - at : (size_t)name);
}

/* Numbers of several bytes, of which there are many, are not valid UTF-8; one may look like U+FFFD. */
bool xplane_is_text_copy(const unsigned char *head, size_t size)
{
    enum { NEAR = 32, ENOUGH = 8 };
    static const unsigned char replacement[] = {0xef, 0xbf, 0xbd};
    size_t count = 0, limit = size < NEAR ? size : NEAR;
    bool named = false;
    for (size_t at = 1; at < limit && !named; at++) named = is_plane_name(head + at, limit - at);
    if (!named || head[0] != HD_PROTO_BYTES(1)) return false;
    for (size_t at = 1; at + sizeof replacement <= size; at++)
        count += memcmp(head + at, replacement, sizeof replacement) == 0;
    return count >= ENOUGH;
}

static int xplane_sniff(const unsigned char *head, size_t size)
{
    return xplane_is_plane(head, size) || xplane_is_text_copy(head, size) ? 95 : 0;
}

const hd_format hd_xplane_format = {
    .info = {.name = "xplane",
             .title = "XPlane of JAX, TensorFlow and PyTorch/XLA (GPU, TPU)",
             .extensions = ".xplane.pb",
             .reads = true,
             .keeps = "everything; picoseconds",
             .loses = "nothing"},
    .sniff = xplane_sniff,
    .read = xplane_read,
    .read_folder = xplane_read_folder,
};
