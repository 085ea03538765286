/* names.c - texts, domains, categories and arguments of NVTX -> ids of the session
 *
 * The handle of a domain or a registered string is a tagged number, not a pointer: a program that passes another value
 * causes a row in the ledger, not a crash. Equal domains and strings share a handle.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/sorted.h"
#include "base/text/utf8.h"
#include "capture/cuda/nvtx/impl.h"
#include "capture/cuda/window/window.h"

#define STRING_TAG UINT64_C(0x4856535400000000) /* "HVST" */
#define DOMAIN_TAG UINT64_C(0x4856444d00000000) /* "HVDM" */
#define TAG_MASK UINT64_C(0xffffffff00000000)
#define STEP_BIT UINT64_C(0x80000000) /* ids have 24 bits */

hd_status nvtx_names_prepare(void)
{
    nvtx_tool.domains = calloc(NVTX_DOMAINS_MAX, sizeof *nvtx_tool.domains);
    if (!nvtx_tool.domains) return HD_ERR_MEMORY;
    nvtx_tool.domains[0].name = "";
    atomic_store(&nvtx_tool.domain_count, 1);
    nvtx_tool.category = hd_session_intern(nvtx_tool.session, "user_annotation");
    nvtx_tool.unnamed = hd_session_intern(nvtx_tool.session, "(unnamed)");
    return HD_OK;
}

/* ---- texts ---- */

static void clear_text(nvtx_text *out)
{
    out->data = NULL;
    out->size = 0;
    out->id = 0;
    out->is_step = false;
}

void nvtx_text_ascii(nvtx_text *out, const char *text)
{
    clear_text(out);
    out->data = text;
    out->size = text ? strlen(text) : 0;
}

void nvtx_text_wide(nvtx_text *out, const wchar_t *text)
{
    char *p = out->room;
    clear_text(out);
    if (!text) return;
    for (; *text && p - out->room < NVTX_TEXT_BYTES; text++) p += hd_utf8_put(p, (uint32_t)*text);
    *p = 0;
    out->data = out->room;
    out->size = (size_t)(p - out->room);
}

static void text_registered(nvtx_text *out, void *handle)
{
    uint64_t bits = (uint64_t)(uintptr_t)handle;
    clear_text(out);
    if (!handle) return;
    if ((bits & TAG_MASK) != STRING_TAG) {
        nvtx_tell(NVTX_BAD_HANDLE, 1);
        return;
    }
    out->id = (uint32_t)(bits & ~TAG_MASK & ~STEP_BIT);
    if (!(bits & STEP_BIT)) return;
    out->is_step = true;
    pthread_mutex_lock(&nvtx_tool.lock);
    out->data = hd_map_pointer(&nvtx_tool.steps, out->id, 0);
    pthread_mutex_unlock(&nvtx_tool.lock);
}

#define HAS(event, field) ((event)->bytes >= offsetof(nvtx_event, field) + sizeof(event)->field)

void nvtx_text_of(nvtx_text *out, const nvtx_event *event)
{
    clear_text(out);
    if (!event || !HAS(event, text)) return;
    switch (event->text_type) {
    case NVTX_TEXT_ASCII: nvtx_text_ascii(out, event->text.ascii); break;
    case NVTX_TEXT_WIDE: nvtx_text_wide(out, event->text.wide); break;
    case NVTX_TEXT_REGISTERED: text_registered(out, event->text.registered); break;
    default: break;
    }
}

uint32_t nvtx_name(nvtx_thread *here, const nvtx_text *text)
{
    if (text->id) return text->id;
    if (!text->data) return nvtx_tool.unnamed;
    if (text->size >= NVTX_CACHE_TEXT) return hd_session_intern(nvtx_tool.session, text->data);
    nvtx_name_slot *slot = &here->names[(hd_hash(text->data, text->size) >> 32) % NVTX_CACHE];
    if (slot->id && slot->size == text->size && memcmp(slot->text, text->data, text->size) == 0) return slot->id;
    slot->id = hd_session_intern(nvtx_tool.session, text->data);
    slot->size = (uint32_t)text->size;
    memcpy(slot->text, text->data, text->size);
    return slot->id;
}

/* Under the lock. */
static bool remember_step(uint32_t id, const char *text)
{
    if (hd_map_find(&nvtx_tool.steps, id, 0)) return true;
    char *copy = strdup(text);
    if (copy && hd_map_set_pointer(&nvtx_tool.steps, id, 0, copy)) return true;
    free(copy);
    return false;
}

void *nvtx_register(const nvtx_text *text)
{
    if (!text->data) return NULL;
    uint32_t id = hd_session_intern(nvtx_tool.session, text->data);
    uint64_t bits = STRING_TAG | id;
    if (!id) return NULL;
    if (atomic_load_explicit(&window_counts_steps, memory_order_relaxed) && window_is_step_name(text->data)) {
        pthread_mutex_lock(&nvtx_tool.lock);
        if (remember_step(id, text->data)) bits |= STEP_BIT;
        pthread_mutex_unlock(&nvtx_tool.lock);
    }
    return (void *)(uintptr_t)bits; // NOLINT: a number that only we look into
}

/* ---- domains and categories ---- */

nvtx_domain nvtx_domain_make(const nvtx_text *name)
{
    if (!name->data) return NULL;
    pthread_mutex_lock(&nvtx_tool.lock);
    uint32_t count = atomic_load(&nvtx_tool.domain_count), at = 1;
    while (at < count && strcmp(nvtx_tool.domains[at].name, name->data) != 0) at++;
    if (at == count) {
        char *copy = count < NVTX_DOMAINS_MAX ? strdup(name->data) : NULL;
        if (copy) {
            nvtx_tool.domains[at].name = copy;
            atomic_store(&nvtx_tool.domain_count, count + 1);
        } else {
            at = 0;
        }
    }
    pthread_mutex_unlock(&nvtx_tool.lock);
    if (!at) nvtx_tell(NVTX_OVER, 1);
    return at ? (nvtx_domain)(uintptr_t)(DOMAIN_TAG | at) : NULL;
}

uint32_t nvtx_domain_of(nvtx_domain domain)
{
    uint64_t bits = (uint64_t)(uintptr_t)domain;
    if (!domain) return 0;
    if ((bits & TAG_MASK) == DOMAIN_TAG && (bits & ~TAG_MASK) < atomic_load(&nvtx_tool.domain_count))
        return (uint32_t)(bits & ~TAG_MASK);
    nvtx_tell(NVTX_BAD_HANDLE, 1);
    return 0;
}

/* Categories of a domain are sorted by number. */
static uint32_t find_category(const nvtx_domain_info *domain, uint32_t number)
{
    uint32_t low = 0, high = domain->category_count;
    HD_PARTITION_POINT(low, high, at, domain->categories[at].number < number);
    return low;
}

static bool set_category(nvtx_domain_info *domain, uint32_t number, const char *name)
{
    uint32_t at = find_category(domain, number);
    bool is_there = at < domain->category_count && domain->categories[at].number == number;
    if (is_there && strcmp(domain->categories[at].name, name) == 0) return false;
    if (!is_there && domain->category_count == domain->category_capacity) {
        uint32_t capacity = domain->category_capacity ? domain->category_capacity * 2 : 16;
        nvtx_category *wider = realloc(domain->categories, capacity * sizeof *wider);
        if (!wider) return false;
        domain->categories = wider;
        domain->category_capacity = capacity;
    }
    char *copy = strdup(name);
    if (!copy) return false;
    if (is_there) {
        free(domain->categories[at].name);
    } else {
        nvtx_category *place = domain->categories + at;
        memmove(place + 1, place, (domain->category_count++ - at) * sizeof *place);
    }
    domain->categories[at] = (nvtx_category){number, copy};
    return true;
}

void nvtx_name_category(uint32_t domain, uint32_t number, const nvtx_text *name)
{
    if (!name->data) return;
    pthread_mutex_lock(&nvtx_tool.lock);
    if (set_category(&nvtx_tool.domains[domain], number, name->data))
        atomic_fetch_add_explicit(&nvtx_tool.category_version, 1, memory_order_relaxed);
    pthread_mutex_unlock(&nvtx_tool.lock);
}

/* ---- arguments ---- */

static bool set_payload(hd_session_arg *arg, char *digits, const nvtx_args_slot *key)
{
    double number;
    float small;
    *arg = (hd_session_arg){.key = "payload", .type = HD_SESSION_INT, .integer = (int64_t)key->payload};
    switch (key->payload_type) {
    case NVTX_PAYLOAD_UINT64:
        if (key->payload <= INT64_MAX) return true;
        sprintf(digits, "%llu", (unsigned long long)key->payload);
        arg->type = HD_SESSION_JSON;
        arg->text = digits;
        return true;
    case NVTX_PAYLOAD_INT64: return true;
    case NVTX_PAYLOAD_UINT32: arg->integer = (uint32_t)key->payload; return true;
    case NVTX_PAYLOAD_INT32: arg->integer = (int32_t)(uint32_t)key->payload; return true;
    case NVTX_PAYLOAD_DOUBLE:
        memcpy(&number, &key->payload, sizeof number);
        arg->type = HD_SESSION_DOUBLE;
        arg->number = number;
        return true;
    case NVTX_PAYLOAD_FLOAT:
        memcpy(&small, &key->payload, sizeof small); /* little endian, as the file is */
        arg->type = HD_SESSION_DOUBLE;
        arg->number = (double)small;
        return true;
    default: return false;
    }
}

static uint32_t make_args(const nvtx_args_slot *key)
{
    hd_session_arg args[4];
    char digits[24], colour[16], category[NVTX_CACHE_TEXT * 4];
    uint32_t count = 0;
    const nvtx_domain_info *domain = &nvtx_tool.domains[key->domain];
    if (key->domain) args[count++] = (hd_session_arg){"domain", HD_SESSION_TEXT, .text = domain->name};
    if (key->category) {
        args[count] = (hd_session_arg){"category", HD_SESSION_INT, .integer = key->category};
        pthread_mutex_lock(&nvtx_tool.lock);
        uint32_t at = find_category(domain, key->category);
        if (at < domain->category_count && domain->categories[at].number == key->category) {
            snprintf(category, sizeof category, "%s", domain->categories[at].name);
            args[count].type = HD_SESSION_TEXT;
            args[count].text = category;
        }
        pthread_mutex_unlock(&nvtx_tool.lock);
        count++;
    }
    if (key->payload_type && set_payload(&args[count], digits, key)) count++;
    if (key->has_colour) {
        sprintf(colour, "#%06x", (unsigned)key->colour & 0xffffff);
        args[count++] = (hd_session_arg){"color", HD_SESSION_TEXT, .text = colour};
    }
    return hd_session_args(nvtx_tool.session, args, count);
}

static void read_key(nvtx_args_slot *key, const nvtx_event *event)
{
    if (HAS(event, category)) key->category = event->category;
    if (HAS(event, colour) && event->colour_type == NVTX_COLOUR_ARGB) {
        key->has_colour = true;
        key->colour = event->colour;
    }
    if (!HAS(event, payload) || event->payload_type == NVTX_PAYLOAD_NONE) return;
    bool is_known = event->payload_type > 0 && event->payload_type <= NVTX_PAYLOAD_FLOAT;
    if (!is_known || atomic_load_explicit(&nvtx_tool.args_full, memory_order_relaxed)) {
        nvtx_tell(NVTX_NO_PAYLOAD, 1);
        return;
    }
    bool is_narrow = event->payload_type >= NVTX_PAYLOAD_UINT32;
    key->payload_type = (uint8_t)event->payload_type;
    key->payload = is_narrow ? event->payload.u32 : event->payload.u64;
}

static bool same_key(const nvtx_args_slot *a, const nvtx_args_slot *b)
{
    return a->is_used && a->payload == b->payload && a->domain == b->domain && a->category == b->category &&
           a->colour == b->colour && a->version == b->version && a->payload_type == b->payload_type &&
           a->has_colour == b->has_colour;
}

uint32_t nvtx_args(nvtx_thread *here, uint32_t domain, const nvtx_event *event)
{
    nvtx_args_slot key = {.domain = domain, .is_used = true};
    if (event) read_key(&key, event);
    if (!key.domain && !key.category && !key.has_colour && !key.payload_type) return 0;
    key.version = atomic_load_explicit(&nvtx_tool.category_version, memory_order_relaxed);
    uint64_t mixed = hd_hash_pair(key.payload, (uint64_t)key.domain << 32 | key.category);
    nvtx_args_slot *slot = &here->args[(mixed ^ key.colour) % NVTX_CACHE];
    if (same_key(slot, &key)) return slot->id;
    *slot = key;
    slot->id = make_args(&key);
    if (slot->id >= NVTX_ARGS_MAX) atomic_store_explicit(&nvtx_tool.args_full, true, memory_order_relaxed);
    return slot->id;
}
