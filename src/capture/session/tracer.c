/* tracer.c - functions for tracers: tracks, arguments, stacks, modules, notes, metadata */
#include <stdlib.h>
#include <string.h>

#include "base/capture_wire.h"
#include "capture/session/impl.h"

_Static_assert((int)HD_SESSION_NODE == (int)CAPTURE_NODE, "kinds are those of the file");
_Static_assert((int)HD_SESSION_TRACK_PROCESS == (int)CAPTURE_TRACK_PROCESS, "and so are tracks");
_Static_assert((int)HD_SESSION_JSON == (int)CAPTURE_JSON && (int)HD_SESSION_ARGS_MAX == (int)CAPTURE_ARGS_MAX,
               "and arguments");
_Static_assert((int)HD_SESSION_METADATA_BYTES <= (int)CAPTURE_PAYLOAD_MAX / 2, "a chunk has room for it");

void session_put_text(hd_bytes *out, const char *text, size_t size)
{
    hd_bytes_put_varint(out, size);
    hd_bytes_put(out, text, size);
}

static void put_string(hd_bytes *out, const char *text)
{
    session_put_text(out, text ? text : "", text ? session_text_size(text) : 0);
}

/* Under the lock. Takes the entry's bytes. */
static uint32_t add_entry(hd_session *session, int list, hd_bytes *entry)
{
    uint32_t id = 0;
    if (entry->failed)
        session->lists[list].lost++;
    else
        id = session_list_add(session, list, entry->data, entry->size);
    hd_bytes_deinit(entry);
    return id;
}

uint32_t hd_session_track(hd_session *session, const hd_session_track_info *info)
{
    if ((unsigned)info->kind - 1 >= HD_SESSION_TRACK_PROCESS || !session_enter(session)) return 0;
    hd_bytes entry = {0};
    hd_bytes_put_varint(&entry, (uint64_t)info->kind);
    hd_bytes_put_varint(&entry, info->device);
    hd_bytes_put_varint(&entry, info->process);
    hd_bytes_put_varint(&entry, info->number);
    put_string(&entry, info->name);
    uint32_t id = add_entry(session, SESSION_TRACKS, &entry);
    session_leave(session);
    return id;
}

static void put_arg(hd_bytes *entry, hd_session *session, const hd_session_arg *arg)
{
    uint64_t bits;
    hd_bytes_put_varint(entry, session_name_id(session, arg->key));
    hd_bytes_put_u8(entry, (uint8_t)arg->type);
    switch (arg->type) {
    case HD_SESSION_INT: hd_bytes_put_zigzag(entry, arg->integer); break;
    case HD_SESSION_DOUBLE:
        memcpy(&bits, &arg->number, sizeof bits);
        hd_bytes_put_le(entry, bits, 8);
        break;
    default: hd_bytes_put_varint(entry, session_name_id(session, arg->text)); break;
    }
}

static void leave_out(hd_session *session, int limit);

uint32_t hd_session_args(hd_session *session, const hd_session_arg *args, uint32_t count)
{
    if (count > HD_SESSION_ARGS_MAX) leave_out(session, SESSION_LIMIT_ARGS);
    if (!count || count > HD_SESSION_ARGS_MAX) return 0;
    for (uint32_t i = 0; i < count; i++) {
        if (!args[i].key || (unsigned)args[i].type - 1 >= HD_SESSION_JSON) return 0;
    }
    if (!session_enter(session)) return 0;
    hd_bytes entry = {0};
    hd_bytes_put_varint(&entry, count);
    for (uint32_t i = 0; i < count; i++) put_arg(&entry, session, &args[i]);
    uint32_t id = add_entry(session, SESSION_ARGS, &entry);
    session_leave(session);
    return id;
}

/* A node: that of its caller, then the frame, whose lowest bit marks a name. */
uint32_t hd_session_stack(hd_session *session, const uint64_t *frames, uint32_t count)
{
    uint8_t entry[2 * HD_VARINT_BYTES];
    uint32_t node = 0;
    if (!count || !session_enter(session)) return 0;
    for (uint32_t i = count < HD_SESSION_STACK_MAX ? count : HD_SESSION_STACK_MAX; i-- > 0;) {
        size_t size = hd_varint_write(entry, node);
        size += hd_varint_write(entry + size, frames[i] << 1 | frames[i] >> 63);
        node = session_list_add(session, SESSION_FRAMES, entry, size);
        if (!node) break;
    }
    session_leave(session);
    return node;
}

uint32_t hd_session_module(hd_session *session, const hd_session_module_info *info)
{
    if (info->build_id_bytes > CAPTURE_BUILD_ID_MAX || !session_enter(session)) return 0;
    hd_bytes entry = {0};
    hd_bytes_put_varint(&entry, info->start);
    hd_bytes_put_varint(&entry, info->end);
    hd_bytes_put_varint(&entry, info->offset);
    hd_bytes_put_varint(&entry, info->bias);
    session_put_text(&entry, (const char *)info->build_id, info->build_id_bytes);
    put_string(&entry, info->path);
    uint32_t id = add_entry(session, SESSION_MODULES, &entry);
    session_leave(session);
    return id;
}

uint32_t hd_session_symbol(hd_session *session, uint64_t start, uint64_t bytes, const char *name)
{
    if (!name || !session_enter(session)) return 0;
    hd_bytes entry = {0};
    hd_bytes_put_varint(&entry, start);
    hd_bytes_put_varint(&entry, bytes);
    put_string(&entry, name);
    uint32_t id = add_entry(session, SESSION_SYMBOLS, &entry);
    session_leave(session);
    return id;
}

/* ---- facts ---- */

void session_facts_deinit(hd_session *session)
{
    for (uint32_t i = 0; i < session->fact_count; i++) {
        free(session->facts[i].key);
        hd_bytes_deinit(&session->facts[i].value);
    }
    free(session->facts);
}

/* The fact of a key; NULL: no memory. There are few. Under the lock. */
static session_fact *find_fact(hd_session *session, unsigned type, const char *key)
{
    for (uint32_t i = 0; i < session->fact_count; i++) {
        if (session->facts[i].type == type && strcmp(session->facts[i].key, key) == 0) return &session->facts[i];
    }
    session_fact *facts = realloc(session->facts, (session->fact_count + 1) * sizeof *facts);
    if (!facts) return NULL;
    session->facts = facts;
    facts[session->fact_count] = (session_fact){.type = type, .key = strdup(key), .is_written = true};
    return facts[session->fact_count].key ? &facts[session->fact_count++] : NULL;
}

/* Takes the value. */
static void set_fact(hd_session *session, unsigned type, const char *key, hd_bytes *value)
{
    session_fact *fact = value->failed ? NULL : find_fact(session, type, key);
    bool is_same = fact && fact->value.size == value->size && memcmp(fact->value.data, value->data, value->size) == 0;
    if (!fact || is_same) {
        hd_bytes_deinit(value);
        if (!fact) session->lists[SESSION_NAMES].lost++;
        return;
    }
    hd_bytes_deinit(&fact->value);
    fact->value = *value;
    fact->is_written = false;
    session_log(session, type, 0, value->data, value->size);
}

/* Under the lock. */
static void set_note(hd_session *session, const char *code, hd_session_note_level level, uint64_t count)
{
    hd_bytes value = {0};
    hd_bytes_put_u8(&value, (uint8_t)level);
    hd_bytes_put_varint(&value, count);
    put_string(&value, code);
    set_fact(session, CAPTURE_NOTES, code, &value);
}

static void leave_out(hd_session *session, int limit)
{
    static const char *const codes[SESSION_LIMITS] = {"session.args-over-limit", "session.metadata-over-limit"};
    if (!session_enter(session)) return;
    set_note(session, codes[limit], HD_SESSION_LOSS, ++session->over_limit[limit]);
    session_leave(session);
}

void hd_session_note(hd_session *session, const char *code, hd_session_note_level level, uint64_t count)
{
    if (!code || (unsigned)level > HD_SESSION_LOSS || !session_enter(session)) return;
    set_note(session, code, level, count);
    session_leave(session);
}

void hd_session_metadata(hd_session *session, const char *key, const char *json)
{
    if (!key || !json) return;
    if (strlen(json) > HD_SESSION_METADATA_BYTES) {
        leave_out(session, SESSION_LIMIT_METADATA);
        return;
    }
    if (!session_enter(session)) return;
    hd_bytes value = {0};
    put_string(&value, key);
    session_put_text(&value, json, strlen(json));
    set_fact(session, CAPTURE_METADATA, key, &value);
    session_leave(session);
}

/* ---- events ---- */

void session_deliver(hd_session *session, const hd_session_record *record, bool delivers)
{
    if ((unsigned)record->kind - 1 >= HD_SESSION_NODE) return;
    session_event event = {.time_ns = record->time_ns,
                           .value = record->value,
                           .bytes = record->bytes,
                           .node = record->node,
                           .name = record->name,
                           .category = record->category,
                           .device = record->device,
                           .track = record->track,
                           .args = record->args,
                           .stack = record->stack,
                           .correlation = record->correlation,
                           .kind = (uint8_t)record->kind,
                           .delivers = delivers};
    session_emit(session, &event);
}

void hd_session_emit(hd_session *session, const hd_session_record *record)
{
    session_deliver(session, record, false);
}
