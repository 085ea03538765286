/* source.c - sources and sinks */
#include "base/io/source.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"

static const char *const place_names[] = {"", "<memory>", "<descriptor>", "<callback>"};

/* An object of `size` bytes followed by the name, at *out_name. NULL: no memory. */
static void *new_named(size_t size, const char **out_name, const char *name, hd_place place)
{
    if (!name) name = place_names[place];
    size_t name_size = strlen(name) + 1;
    char *object = calloc(1, size + name_size);
    if (object) *out_name = memcpy(object + size, name, name_size);
    return object;
}

static hd_status new_source(hd_byte_source **out, hd_byte_source what, hd_error *err)
{
    *out = new_named(sizeof what, &what.name, what.name, what.place);
    if (!*out) return HD_NOMEM(err);
    **out = what;
    return HD_OK;
}

hd_status hd_byte_source_new_path(hd_byte_source **out, const char *path, hd_error *err)
{
    return new_source(out, (hd_byte_source){.name = path}, err);
}

hd_status hd_byte_source_new_memory(hd_byte_source **out, const void *data, size_t size, const char *name,
                                    hd_error *err)
{
    return new_source(out, (hd_byte_source){.place = HD_PLACE_MEMORY, .name = name, .data = data, .size = size}, err);
}

hd_status hd_byte_source_new_descriptor(hd_byte_source **out, int descriptor, const char *name, hd_error *err)
{
    return new_source(out, (hd_byte_source){.place = HD_PLACE_DESCRIPTOR, .name = name, .descriptor = descriptor}, err);
}

hd_status hd_byte_source_new_callback(hd_byte_source **out, hd_byte_source_read *read, void *user, const char *name,
                                      hd_error *err)
{
    return new_source(out, (hd_byte_source){.place = HD_PLACE_CALLBACK, .name = name, .read = read, .user = user}, err);
}

void hd_byte_source_free(hd_byte_source *source)
{
    free(source);
}

static hd_status new_sink(hd_byte_sink **out, hd_byte_sink what, hd_error *err)
{
    *out = new_named(sizeof what, &what.name, what.name, what.place);
    if (!*out) return HD_NOMEM(err);
    **out = what;
    return HD_OK;
}

hd_status hd_byte_sink_new_path(hd_byte_sink **out, const char *path, hd_error *err)
{
    return new_sink(out, (hd_byte_sink){.name = path}, err);
}

hd_status hd_byte_sink_new_memory(hd_byte_sink **out, const char *name, hd_error *err)
{
    return new_sink(out, (hd_byte_sink){.place = HD_PLACE_MEMORY, .name = name}, err);
}

hd_status hd_byte_sink_new_descriptor(hd_byte_sink **out, int descriptor, const char *name, hd_error *err)
{
    return new_sink(out, (hd_byte_sink){.place = HD_PLACE_DESCRIPTOR, .name = name, .descriptor = descriptor}, err);
}

hd_status hd_byte_sink_new_callback(hd_byte_sink **out, hd_byte_sink_write *write, void *user, const char *name,
                                    hd_error *err)
{
    return new_sink(out, (hd_byte_sink){.place = HD_PLACE_CALLBACK, .name = name, .write = write, .user = user}, err);
}

const void *hd_byte_sink_get_memory(size_t *out_size, const hd_byte_sink *sink)
{
    *out_size = sink->memory.size;
    return sink->memory.size ? sink->memory.data : NULL;
}

void hd_byte_sink_free(hd_byte_sink *sink)
{
    if (!sink) return;
    hd_bytes_deinit(&sink->memory);
    free(sink);
}
