/* frames.c - names of frames that are addresses become requests
 *
 *     libfoo.so+0x1234                    as our captures have them; /usr/lib/libfoo.so+0x1234 as well
 *     /usr/lib/libfoo.so(+0x1234) [0x…]   as glibc's backtrace_symbols, which has return addresses
 *     0x7f0011223344                      of the process
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory/vector.h"
#include "symbolize/impl.h"

typedef struct address {
    hd_string module; /* "": none */
    uint64_t value;
} address;

/* The hexadecimal number that text[from … size) is, all of it. */
static bool parse_digits(uint64_t *out, const char *text, size_t size)
{
    *out = 0;
    if (!size || size > 16) return false;
    for (size_t i = 0; i < size; i++) {
        char c = text[i] | 0x20;
        bool is_digit = text[i] >= '0' && text[i] <= '9';
        if (!is_digit && !(c >= 'a' && c <= 'f')) return false;
        *out = *out << 4 | (unsigned)(is_digit ? c - '0' : c - 'a' + 10);
    }
    return true;
}

static bool parse_frame(address *out, hd_string frame)
{
    const char *text = frame.data;
    size_t size = frame.size, end = size;
    if (size < 3) return false;
    *out = (address){0};
    if (text[0] == '0' && text[1] == 'x') return parse_digits(&out->value, text + 2, size - 2);
    if (text[size - 1] == ']') { /* PATH(+0x1234) [0x7f…] */
        const char *bracket = memrchr(text, '[', size);
        end = (size_t)(bracket ? bracket - text : 0);
        if (end < 3 || text[end - 1] != ' ' || text[end - 2] != ')') return false;
        end -= 2;
    }
    const char *plus = memrchr(text, '+', end);
    if (!plus || plus == text || end - (size_t)(plus - text) < 4 || memcmp(plus, "+0x", 3) != 0) return false;
    if (!parse_digits(&out->value, plus + 3, end - (size_t)(plus - text) - 3)) return false;
    if (end < size && plus[-1] != '(') return false;
    if (end < size && out->value) out->value--; /* within the call */
    out->module = (hd_string){text, (size_t)(plus - text) - (end < size ? 1 : 0)};
    return true;
}

static hd_status add_request(symbolizer *s, sym_module *module, uint64_t value, uint32_t name)
{
    if (module->request_count >= HD_NONE || !hd_grow((void **)&module->requests, &module->request_capacity,
                                                     module->request_count, sizeof *module->requests))
        return HD_NOMEM(s->err);
    s->name_module[name] = module;
    s->name_request[name] = (uint32_t)module->request_count;
    module->requests[module->request_count++] = (sym_request){.address = value, .name = name};
    return HD_OK;
}

/* A name of the process that needs no file. */
static hd_status answer(symbolizer *s, uint64_t value, uint32_t name, uint32_t text)
{
    HD_TRY(add_request(s, &s->process, value, name));
    sym_request *request = &s->process.requests[s->process.request_count - 1];
    request->first = (uint32_t)s->process.answers.count;
    request->count = 1;
    s->process.named++;
    return sym_answers_add(&s->process.answers, text) ? HD_OK : HD_NOMEM(s->err);
}

/* An address of the process: a function without a file, or code in a module. */
static hd_status ask_process(symbolizer *s, uint64_t value, uint32_t name)
{
    const sym_range *range = sym_range_at(s, value);
    sym_module *module = range ? NULL : sym_module_at(s, value);
    if (module) return add_request(s, module, value - module->bias, name);
    if (range) return answer(s, value, name, range->text);
    s->no_module++;
    return add_request(s, &s->process, value, name);
}

/* "py::NAME:FILE", by which captures know code of Python's trampolines. */
static hd_status answer_python(symbolizer *s, hd_string frame, uint32_t name)
{
    return answer(s, 0, name, sym_answers_text(&s->process.answers, frame.data, frame.size));
}

static hd_status ask(symbolizer *s, uint32_t name)
{
    address a;
    sym_module *module = NULL;
    hd_string frame = hd_stacks_text(s->tree, name);
    if (sym_is_python(frame.data, frame.size)) return answer_python(s, frame, name);
    bool is_address = parse_frame(&a, frame);
    if (is_address && a.module.size) module = sym_module_find(s, a.module.data, a.module.size);
    if (!is_address || (a.module.size && !module)) { /* "foo+0x12" is a function's name where there is no module foo */
        s->others++;
        return HD_OK;
    }
    if (!module) return ask_process(s, a.value, name);
    if (!module->is_file && !module->is_ambiguous) return ask_process(s, a.value + module->bias, name);
    return add_request(s, module, a.value, name);
}

hd_status sym_frames_read(symbolizer *s)
{
    uint32_t count = hd_stacks_name_count(s->tree);
    s->name_module = calloc((size_t)count + 1, sizeof *s->name_module);
    s->name_request = calloc((size_t)count + 1, sizeof *s->name_request);
    if (!s->name_module || !s->name_request) return HD_NOMEM(s->err);
    uint8_t *used = calloc((size_t)count + 1, 1);
    if (!used) return HD_NOMEM(s->err);
    for (uint32_t node = 1; node < hd_stacks_count(s->tree); node++) used[hd_stacks_at(s->tree, node).name] = 1;
    hd_status status = HD_OK;
    for (uint32_t name = 1; name < count && status == HD_OK; name++) {
        if (used[name]) status = ask(s, name);
    }
    free(used);
    return status;
}
