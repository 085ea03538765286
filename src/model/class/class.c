/* class.c - the table of rules: classes of kernels by name, and the collective in a text
 *
 * The class of a kernel is that of the first rule that matches its short name (heddle/names.h: without return type,
 * template arguments and parameters, so that a kernel with an ncclComm parameter still computes). Names without a match
 * are compute. Rules from the user come first, and their globs may also match the unmodified name.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/io/lines.h"
#include "base/memory/vector.h"
#include "base/text/pattern.h"
#include "heddle/names.h"
#include "model/class/impl.h"

const char *const gpu_class_names[GPU_CLASSES] = {"compute", "communication", "copy"};
const char *const gpu_collective_names[GPU_COLLECTIVES + 1] = {"AllReduce", "AllGather", "ReduceScatter", "AllToAll",
                                                               "Broadcast", "SendRecv",  "Barrier",       "Reduce",
                                                               "Gather",    "Scatter"};

typedef enum rule_match {
    BEGINS, /* the name begins with it, ignoring case */
    WORD,   /* a word of the name begins so: all_reduce, AllReduce, all-reduce for "allreduce" */
    OP,     /* an operation of XLA: the pattern, then nothing or a number suffix: "send.3" */
    GLOB,   /* a rule from the user */
} rule_match;

enum { AS_NAMED = GPU_NO_COLLECTIVE }; /* the words below give the collective */

typedef struct rule {
    uint8_t match;
    const char *pattern; /* in small letters, without joints for WORD */
    uint8_t class, collective;
    const char *about;
} rule;

/* clang-format off */
static const rule rules[] = {
    {BEGINS, "__amd_rocclr_copy", GPU_COPY,          AS_NAMED, "copies that ROCm does by a kernel"},
    {OP,     "copy-start",        GPU_COPY,          AS_NAMED, "XLA: asynchronous copies"},
    {BEGINS, "hip",               GPU_COMPUTE,       AS_NAMED, "kernels of HIP, whatever their arguments say"},
    {BEGINS, "triton_poi_fused",  GPU_COMPUTE,       AS_NAMED, "Inductor: named after the operators around them"},
    {BEGINS, "triton_red_fused",  GPU_COMPUTE,       AS_NAMED, "Inductor"},
    {BEGINS, "triton_per_fused",  GPU_COMPUTE,       AS_NAMED, "Inductor"},
    {BEGINS, "triton_tem_fused",  GPU_COMPUTE,       AS_NAMED, "Inductor"},
    {WORD,   "nccl",              GPU_COMMUNICATION, AS_NAMED, "NVIDIA NCCL"},
    {WORD,   "rccl",              GPU_COMMUNICATION, AS_NAMED, "AMD RCCL"},
    {WORD,   "mscclpp",           GPU_COMMUNICATION, AS_NAMED, "Microsoft MSCCL++"},
    {WORD,   "msccl",             GPU_COMMUNICATION, AS_NAMED, "Microsoft MSCCL"},
    {WORD,   "oneccl",            GPU_COMMUNICATION, AS_NAMED, "Intel oneCCL"},
    {WORD,   "hccl",              GPU_COMMUNICATION, AS_NAMED, "Huawei HCCL, Intel Gaudi"},
    {WORD,   "hcom",              GPU_COMMUNICATION, AS_NAMED, "Huawei HCCL: hcom_allReduce_"},
    {OP,     "sdma",              GPU_COMMUNICATION, AS_NAMED, "Huawei HCCL: a piece of a collective"},
    {OP,     "reduce_inline",     GPU_COMMUNICATION, AS_NAMED, "Huawei HCCL: a piece of a collective"},
    {WORD,   "cncl",              GPU_COMMUNICATION, AS_NAMED, "Cambricon CNCL"},
    {WORD,   "mccl",              GPU_COMMUNICATION, AS_NAMED, "Moore Threads and MetaX MCCL"},
    {WORD,   "xccl",              GPU_COMMUNICATION, AS_NAMED, "XCCL"},
    {WORD,   "gloo",              GPU_COMMUNICATION, AS_NAMED, "Gloo"},
    {WORD,   "nvshmem",           GPU_COMMUNICATION, AS_NAMED, "NVIDIA NVSHMEM"},
    {WORD,   "rocshmem",          GPU_COMMUNICATION, AS_NAMED, "AMD rocSHMEM"},
    {WORD,   "userbuffers",       GPU_COMMUNICATION, AS_NAMED, "Transformer Engine's Userbuffers"},
    {WORD,   "deepep",            GPU_COMMUNICATION, AS_NAMED, "DeepEP"},
    {WORD,   "crossdevicereduce", GPU_COMMUNICATION, GPU_ALL_REDUCE, "the all-reduce of vLLM, SGLang and aiter"},
    {WORD,   "quickreduce",       GPU_COMMUNICATION, GPU_ALL_REDUCE, "the quantized all-reduce of vLLM on ROCm"},
    {WORD,   "allreducescatter",  GPU_COMMUNICATION, GPU_REDUCE_SCATTER, "XLA: an all-reduce of which a part is kept"},
    {WORD,   "allreduce",         GPU_COMMUNICATION, AS_NAMED, "any: symmetric memory, TensorRT-LLM, FlashInfer, XLA"},
    {WORD,   "allgather",         GPU_COMMUNICATION, AS_NAMED, "any all-gather"},
    {WORD,   "alltoall",          GPU_COMMUNICATION, AS_NAMED, "any all-to-all"},
    {WORD,   "all2all",           GPU_COMMUNICATION, GPU_ALL_TO_ALL, "any all-to-all"},
    {WORD,   "reducescatter",     GPU_COMMUNICATION, AS_NAMED, "any reduce-scatter"},
    {WORD,   "collectivepermute", GPU_COMMUNICATION, GPU_SEND_RECV, "XLA"},
    {WORD,   "collectivebroadcast", GPU_COMMUNICATION, AS_NAMED, "XLA"},
    {WORD,   "asynccollective",   GPU_COMMUNICATION, AS_NAMED, "XLA: a collective fused with what it computes"},
    {WORD,   "sendrecv",          GPU_COMMUNICATION, AS_NAMED, "any message"},
    {OP,     "send",              GPU_COMMUNICATION, GPU_SEND_RECV, "XLA"},
    {OP,     "recv",              GPU_COMMUNICATION, GPU_SEND_RECV, "XLA"},
};
/* clang-format on */
enum { RULES = sizeof rules / sizeof *rules };

static struct own_rules {
    rule *list;
    size_t count, capacity;
    char *file; /* that was read */
} own;

/* The first of these that the letters of a text contain. */
static const struct collective_word {
    const char *word;
    gpu_collective collective;
} words[] = {
    {"allreduce", GPU_ALL_REDUCE}, {"allgather", GPU_ALL_GATHER}, {"reducescatter", GPU_REDUCE_SCATTER},
    {"alltoall", GPU_ALL_TO_ALL},  {"broadcast", GPU_BROADCAST},  {"bcast", GPU_BROADCAST},
    {"sendrecv", GPU_SEND_RECV},   {"send", GPU_SEND_RECV},       {"recv", GPU_SEND_RECV},
    {"barrier", GPU_BARRIER},      {"reduce", GPU_REDUCE},        {"gather", GPU_GATHER},
    {"scatter", GPU_SCATTER},
};
enum { WORDS = sizeof words / sizeof *words };

/* ---- matching ---- */

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c | 0x20) : c;
}

static bool is_upper(char c)
{
    return c >= 'A' && c <= 'Z';
}

static bool is_letter(char c)
{
    return lower(c) >= 'a' && lower(c) <= 'z';
}

static bool is_joint(char c)
{
    return c == '_' || c == '-' || c == ' ';
}

/* A word begins after a character that is not a letter, and at a capital after a small letter: two|Shot|All|Reduce. */
static bool begins_word(hd_string text, size_t at)
{
    if (at == 0 || !is_letter(text.data[at - 1])) return true;
    return is_upper(text.data[at]) && !is_upper(text.data[at - 1]);
}

/* Whether the word is at a position, ignoring case and separators: all_reduce, AllReduce. */
static bool stands_at(hd_string text, size_t at, const char *word)
{
    for (bool first = true; *word; first = false, at++) {
        while (!first && at < text.size && is_joint(text.data[at])) at++;
        if (at >= text.size || lower(text.data[at]) != *word++) return false;
    }
    return true;
}

static bool begins_with(hd_string text, const char *pattern)
{
    for (size_t i = 0; pattern[i]; i++) {
        if (i >= text.size || lower(text.data[i]) != pattern[i]) return false;
    }
    return true;
}

/* Where each word begins is found once for all rules. */
typedef struct name_words {
    hd_string text, whole;
    size_t *starts, count;
} name_words;

static bool fits(const rule *r, const name_words *name)
{
    if (r->match == GLOB)
        return hd_glob_matches(r->pattern, name->whole.data, name->whole.size, false) ||
               hd_glob_matches(r->pattern, name->text.data, name->text.size, false);
    if (r->match != WORD) {
        size_t size = strlen(r->pattern);
        return begins_with(name->text, r->pattern) &&
               (r->match == BEGINS || name->text.size == size || name->text.data[size] == '.');
    }
    for (size_t i = 0; i < name->count; i++) {
        if (stands_at(name->text, name->starts[i], r->pattern)) return true;
    }
    return false;
}

static const rule *rule_at(size_t index)
{
    return index < own.count ? &own.list[index] : &rules[index - own.count];
}

/* NULL: none. */
static const rule *rule_of(hd_string name)
{
    char text[HD_NAME_BYTES];
    size_t starts[HD_NAME_BYTES];
    name_words words_of = {{text, hd_name_short(text, hd_name_plain(name))}, name, starts, 0};
    for (size_t at = 0; at < words_of.text.size; at++) {
        if (is_letter(text[at]) && begins_word(words_of.text, at)) starts[words_of.count++] = at;
    }
    for (size_t i = 0; i < own.count + RULES; i++) {
        if (fits(rule_at(i), &words_of)) return rule_at(i);
    }
    return NULL;
}

/* ---- asking ---- */

gpu_class gpu_class_of_kernel(hd_string name)
{
    const rule *r = rule_of(name);
    return r ? (gpu_class)r->class : GPU_COMPUTE;
}

gpu_collective gpu_collective_of(hd_string text)
{
    char letters[HD_NAME_BYTES];
    size_t size = 0;
    const rule *r = rule_of(text);
    if (r && r->collective != AS_NAMED) return (gpu_collective)r->collective;
    for (size_t i = 0; i < text.size && size + 1 < sizeof letters; i++) {
        if (is_letter(text.data[i])) letters[size++] = lower(text.data[i]);
    }
    letters[size] = '\0';
    for (size_t i = 0; i < WORDS; i++) {
        if (strstr(letters, words[i].word)) return words[i].collective;
    }
    return GPU_NO_COLLECTIVE;
}

static uint8_t *shared_names(const hd_trace *trace, const hd_launches *launches)
{
    void **place = (void **)&((hd_launches *)launches)->class_names, *before = __atomic_load_n(place, __ATOMIC_ACQUIRE);
    if (before) return before;
    void *names = calloc((size_t)hd_trace_string_count(trace) + 1, 1);
    return names ? (uint8_t *)hd_keep_first(place, names) : NULL;
}

bool gpu_classes_init(gpu_classes *classes, const hd_trace *trace, const hd_launches *launches)
{
    *classes = (gpu_classes){.trace = trace, .are_own = !launches};
    classes->by_name = launches ? shared_names(trace, launches) : calloc((size_t)hd_trace_string_count(trace) + 1, 1);
    return gpu_arg_init(&classes->collective, trace, "Collective name") && classes->by_name;
}

void gpu_classes_deinit(gpu_classes *classes)
{
    hd_walk_end(&classes->room, classes->trace);
    if (classes->are_own) free(classes->by_name);
    gpu_arg_deinit(&classes->collective);
    *classes = (gpu_classes){0};
}

/* A kernel whose name contains a collective is communication, unless it begins with "hip" or a rule from the user says
 * that it computes. */
gpu_class gpu_class_of(gpu_classes *classes, const hd_work *work)
{
    if (work->role == HD_ROLE_SET) return GPU_COMPUTE;
    if (work->role == HD_ROLE_COPY) return GPU_COPY;
    hd_string name = hd_trace_string(classes->trace, work->name);
    uint8_t *place = &classes->by_name[work->name], known = __atomic_load_n(place, __ATOMIC_RELAXED);
    if (!known) __atomic_store_n(place, known = (uint8_t)(gpu_class_of_kernel(name) + 1), __ATOMIC_RELAXED);
    gpu_class class = (gpu_class)(known - 1);
    if (class != GPU_COMPUTE || !gpu_arg_is_used(&classes->collective) || begins_with(name, "hip")) return class;
    if (own.count && rule_of(name) && rule_of(name)->match == GLOB) return class;
    hd_value value;
    uint32_t at;
    const hd_block *block = hd_walk_row(&at, &classes->room, classes->trace, HD_KIND_SLICE, work->row);
    return gpu_arg_get(&value, &classes->collective, block, at) ? GPU_COMMUNICATION : class;
}

/* ---- rules of the user ---- */

/* The index of a word in a list; count: it is not there. */
static size_t index_of(const char *const *list, size_t count, hd_string word)
{
    size_t i = 0;
    while (i < count && (strlen(list[i]) != word.size || memcmp(list[i], word.data, word.size) != 0)) i++;
    return i;
}

static hd_string trimmed(const char *data, size_t size)
{
    while (size && strchr(" \t", *data)) data++, size--;
    while (size && strchr(" \t", data[size - 1])) size--;
    return (hd_string){data, size};
}

hd_status class_add_rule(hd_string word, const char *glob, hd_error *err)
{
    size_t class = index_of(gpu_class_names, GPU_CLASSES, word);
    size_t collective = index_of(gpu_collective_names, GPU_COLLECTIVES, word);
    if (class == GPU_CLASSES && collective == GPU_COLLECTIVES) return HD_ERR_FORMAT;
    if (!hd_grow((void **)&own.list, &own.capacity, own.count, sizeof *own.list)) return HD_NOMEM(err);
    own.list[own.count++] = (rule){GLOB, glob, class < GPU_CLASSES ? (uint8_t) class : GPU_COMMUNICATION,
                                   (uint8_t)collective, "of --groups"};
    return HD_OK;
}

static hd_status add_line(const hd_line *line, const char *path, hd_error *err)
{
    hd_string all = trimmed(line->text, line->size);
    if (!all.size || *all.data == '#') return HD_OK;
    const char *colon = memchr(all.data, ':', all.size);
    hd_string word = trimmed(all.data, colon ? (size_t)(colon - all.data) : 0);
    hd_string pattern = {all.data, 0};
    if (colon) pattern = trimmed(colon + 1, all.size - (size_t)(colon + 1 - all.data));
    char *copy = pattern.size && !line->has_zero ? strndup(pattern.data, pattern.size) : NULL;
    if (pattern.size && !line->has_zero && !copy) return HD_NOMEM(err);
    hd_status status = copy ? class_add_rule(word, copy, err) : HD_ERR_FORMAT;
    if (status != HD_OK) free(copy);
    if (status == HD_ERR_FORMAT)
        return hd_error_set(err, HD_ERR_FORMAT, path, HD_OFFSET_NONE,
                            "line %llu is not \"CLASS: PATTERN\", such as \"communication: my_ring_*\"; classes are "
                            "compute, communication, copy, and collectives such as AllReduce",
                            (unsigned long long)line->number);
    return status;
}

/* A file whose first line, but for comments, begins with a bracket has [[group]] tables. */
static bool has_tables(const char *text, size_t size)
{
    for (const char *at = text, *end = text + size; at < end; at++) {
        if (*at == '#')
            while (at < end && *at != '\n') at++;
        else if (!strchr(" \t\r\n", *at))
            return *at == '[';
    }
    return false;
}

static hd_status read_rules(const char *path, hd_error *err)
{
    hd_input *input;
    hd_line line;
    const uint8_t *head;
    size_t size;
    if (!strpbrk(path, "/.") && access(path, F_OK) != 0) return class_read_shipped(path, err);
    HD_TRY(hd_input_open(&input, path, NULL, err));
    hd_status peeked = hd_input_peek(input, &head, &size, err);
    bool is_toml = peeked == HD_OK && has_tables((const char *)head, size);
    if (peeked != HD_OK || is_toml) hd_input_close(input);
    if (peeked != HD_OK) return peeked;
    if (is_toml) return class_read_groups(path, err);
    hd_lines lines = {.input = input, .may_end_open = true};
    hd_status status = hd_lines_next(&line, &lines, err);
    for (; status == HD_OK; status = hd_lines_next(&line, &lines, err)) {
        status = add_line(&line, path, err);
        if (status != HD_OK) break;
    }
    hd_lines_deinit(&lines);
    hd_input_close(input);
    return status == HD_END ? HD_OK : status;
}

hd_status hd_class_rules_read(const char *path, hd_error *err)
{
    HD_TRY(read_rules(path, err));
    char *file = strdup(path);
    if (!file) return HD_NOMEM(err);
    free(own.file);
    own.file = file;
    return HD_OK;
}

const char *gpu_class_rules_file(void)
{
    return own.file;
}

/* ---- listing ---- */

size_t hd_class_rule_count(void)
{
    return own.count + RULES;
}

hd_class_rule hd_class_rule_at(size_t index)
{
    static const char *const where[] = {"begins with", "has the word", "is the operation", "matches"};
    const rule *r = rule_at(index);
    return (hd_class_rule){where[r->match], r->pattern, gpu_class_names[r->class],
                           r->collective == AS_NAMED ? NULL : gpu_collective_names[r->collective], r->about};
}
