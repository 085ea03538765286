/* python.c - the frames of CPython's interpreter, between the native ones
 *
 * The interpreter loop runs many Python functions in one native frame. They are listed in its own frames, a list that
 * begins in the thread's state; and each run of the loop has a mark in that list that is stored in the loop's native
 * frame: a _PyCFrame in 3.11, an entry frame (owner: C stack) from 3.12 on. So the native frame whose memory contains
 * the mark runs the functions before the mark, whatever its name and inlining, and is replaced by them.
 *
 * Only memory is read, by the layouts of the releases (stable within a minor version), of frames that this thread is
 * in: nothing moves or frees them and their code meanwhile, with the GIL or without. The only functions called are
 * PyGILState_GetThisThreadState and PyCode_Addr2Line, which only read as well. The type of every code object is checked
 * before it is read, and the first frames are checked to be mapped. References are not taken: a cached name is verified
 * by the hashes of the names in its code object.
 *
 * Not      interpreters that end (Py_FinalizeEx), builds without GIL, 3.16 and later: noted as stack.python-unsupported
 */
#include <dlfcn.h>
#include <stdio.h>

#include "base/text/utf8.h"
#include "capture/stack/impl.h"

/* Offsets in bytes. */
typedef struct layout {
    uint8_t state_frame;  /* in the thread's state: the frame, or 3.11 and 3.12's _PyCFrame */
    uint8_t cframe_frame; /* in that: the frame. 0xff: there is none */
    uint8_t cframe_previous;
    uint8_t code, previous, place, owner, is_entry;                    /* in a frame. is_entry: 3.11, else 0 */
    uint8_t first_line, file, name, lines, first_traced, instructions; /* in code */
    uint8_t ascii, compact;                                            /* in a text: where its characters are */
    uint8_t
        outermost; /* in the thread's state: a frame below all others, which is not an entry frame. 0: there is none */
} layout;

static const layout layouts[] = {
    {56, 8, 16, 32, 48, 56, 69, 68, 72, 112, 128, 136, 168, 184, 48, 72, 0}, /* 3.11 */
    {56, 0, 8, 0, 8, 56, 70, 0, 68, 112, 128, 136, 176, 192, 40, 56, 0},     /* 3.12 */
    {72, 0xff, 0, 0, 8, 56, 70, 0, 68, 112, 128, 136, 184, 200, 40, 56, 0},  /* 3.13 */
    {72, 0xff, 0, 0, 8, 56, 74, 0, 68, 112, 128, 136, 192, 208, 40, 56, 0},  /* 3.14 */
    {72, 0xff, 0, 0, 8, 56, 74, 0, 68, 112, 128, 136, 192, 208, 40, 56, 80}, /* 3.15 */
};
enum {
    FIRST_MINOR = 11,
    OWNED_BY_GENERATOR = 1,
    UNIT = 2,       /* bytes of an instruction */
    OWNED_BY_C = 3, /* or more */
    NO_CFRAME = 0xff,
    FRAME_BYTES = 80,  /* that are looked at */
    REFERENCE_TAG = 7, /* bits of a reference to an object that are not its address, from 3.14 on */
    TYPE = 8,
    TEXT_LENGTH = 16,
    TEXT_HASH = 24,
    TEXT_STATE = 32
};
enum { NAME_MAX_BYTES = 1024 };

typedef enum python_state { PYTHON_NONE, PYTHON_UNCHECKED, PYTHON_READY, PYTHON_UNSUPPORTED } python_state;

static struct {
    atomic_int state;
    const layout *layout;
    const void *code_type, *text_type;
    void *(*this_state)(void);
    int (*line_of)(const void *code, int offset);
    int (*is_initialized)(void);
    int (*is_finalizing)(void);
} python;

/* ---- reading ---- */

static inline STACK_RAW uint64_t word_at(uint64_t address, unsigned offset)
{
    return *(const volatile uint64_t *)(uintptr_t)(address + offset);
}

static inline STACK_RAW uint32_t half_at(uint64_t address, unsigned offset)
{
    return *(const volatile uint32_t *)(uintptr_t)(address + offset);
}

static inline STACK_RAW uint8_t byte_at(uint64_t address, unsigned offset)
{
    return *(const volatile uint8_t *)(uintptr_t)(address + offset);
}

/* ---- the interpreter ---- */

void stack_python_find(void)
{
    const unsigned *version;
    const char *(*version_text)(void);
    if (atomic_load(&python.state) != PYTHON_NONE) return;
    version = dlsym(RTLD_DEFAULT, "Py_Version"); /* from 3.11 on */
    *(void **)&version_text = dlsym(RTLD_DEFAULT, "Py_GetVersion");
    if (!version_text) return;
    unsigned minor = version ? *version >> 16 & 0xff : 0;
    *(void **)&python.this_state = dlsym(RTLD_DEFAULT, "PyGILState_GetThisThreadState");
    *(void **)&python.line_of = dlsym(RTLD_DEFAULT, "PyCode_Addr2Line");
    *(void **)&python.is_initialized = dlsym(RTLD_DEFAULT, "Py_IsInitialized");
    *(void **)&python.is_finalizing = dlsym(RTLD_DEFAULT, minor >= 13 ? "Py_IsFinalizing" : "_Py_IsFinalizing");
    python.code_type = dlsym(RTLD_DEFAULT, "PyCode_Type");
    python.text_type = dlsym(RTLD_DEFAULT, "PyUnicode_Type");
    bool is_known = version && *version >> 24 == 3 && minor >= FIRST_MINOR &&
                    minor - FIRST_MINOR < sizeof layouts / sizeof *layouts && !strstr(version_text(), "free-threading");
    bool has_all = python.this_state && python.line_of && python.is_initialized && python.is_finalizing &&
                   python.code_type && python.text_type;
    if (is_known) python.layout = &layouts[minor - FIRST_MINOR];
    atomic_store(&python.state, is_known && has_all ? PYTHON_UNCHECKED : PYTHON_UNSUPPORTED);
}

bool stack_python_unsupported(void)
{
    return atomic_load(&python.state) == PYTHON_UNSUPPORTED;
}

/* ---- names ---- */

static STACK_RAW uint32_t character(uint64_t data, unsigned size, uint64_t index)
{
    if (size == 1) return byte_at(data, (unsigned)index);
    if (size == 2) return *(const volatile uint16_t *)(uintptr_t)(data + index * 2);
    return half_at(data, (unsigned)index * 4);
}

/* A str in UTF-8, at most `room` bytes: of a longer one the end, since long names are paths of files. */
static size_t put_text(char *out, size_t room, uint64_t text)
{
    size_t size = 0;
    if (word_at(text, TYPE) != (uintptr_t)python.text_type) return 0;
    uint32_t state = half_at(text, TEXT_STATE);
    unsigned width = state >> 2 & 7;
    bool is_compact = state & 0x20, is_ascii = state & 0x40;
    uint64_t length = word_at(text, TEXT_LENGTH),
             data = text + (is_ascii ? python.layout->ascii : python.layout->compact);
    if (!is_compact || (width != 1 && width != 2 && width != 4)) return 0;
    for (uint64_t i = length > room / 4 ? length - room / 4 : 0; i < length; i++)
        size += hd_utf8_put(out + size, character(data, width, i)); /* halves of pairs: bytes that are not UTF-8 */
    return size;
}

/* "function (file.py:12)" */
static uint32_t make_name(hd_session *session, uint64_t code, uint64_t place)
{
    const layout *l = python.layout;
    char text[2 * NAME_MAX_BYTES + 64], file[NAME_MAX_BYTES];
    size_t file_size = put_text(file, sizeof file, word_at(code, l->file)), size = 0;
    bool is_py = file_size >= 3 && memcmp(file + file_size - 3, ".py", 3) == 0;
    int line = python.line_of((const void *)(uintptr_t)code, (int)(place - (code + l->instructions)));
    if (!is_py) size = (size_t)sprintf(text, "py::");
    size += put_text(text + size, NAME_MAX_BYTES, word_at(code, l->name));
    if (line > 0)
        sprintf(text + size, " (%.*s:%d)", (int)file_size, file, line);
    else
        sprintf(text + size, " (%.*s)", (int)file_size, file);
    return hd_session_intern(session, text);
}

static inline uint64_t mix(uint64_t a, uint64_t b)
{
    a = (a ^ b) * UINT64_C(0xff51afd7ed558ccd);
    return a ^ a >> 32;
}

/* The name of a place in code, as an id of the session; 0: there is none. */
static uint32_t name_of(stack_thread *t, hd_session *session, uint64_t code, uint64_t place)
{
    const layout *l = python.layout;
    uint64_t name = word_at(code, l->name), file = word_at(code, l->file);
    uint64_t check = mix(mix(name, word_at(name, TEXT_HASH)), mix(file, word_at(file, TEXT_HASH)));
    check = mix(check, mix(word_at(code, l->lines), half_at(code, l->first_line)));
    stack_name *known = &t->names[mix(code, place) % STACK_NAMES];
    if (known->id && known->code == code && known->place == place && known->check == check) return known->id;
    uint32_t id = make_name(session, code, place);
    *known = (stack_name){code, place, check, id};
    return id;
}

/* ---- frames ---- */

typedef struct python_walk {
    stack_thread *t;
    hd_session *session;
    uint32_t count, run_count;
    uint64_t frame, cframe; /* cframe: 3.11, of the frames here */
    uint64_t outermost;     /* 0: there is none */
    bool check;             /* whether frames are mapped */
} python_walk;

static bool is_mapped(const python_walk *w, uint64_t address, size_t size)
{
    return !w->check || (!(address & 7) && stack_readable(address, size));
}

static bool begin(python_walk *w)
{
    const layout *l = python.layout;
    uint64_t state = (uintptr_t)python.this_state();
    if (!state || !is_mapped(w, state, 128)) return false;
    w->frame = word_at(state, l->state_frame);
    w->outermost = l->outermost ? word_at(state, l->outermost) : 0;
    if (l->cframe_frame == NO_CFRAME) return true;
    w->cframe = w->frame;
    if (!w->cframe || !is_mapped(w, w->cframe, 24)) return false;
    w->frame = word_at(w->cframe, l->cframe_frame);
    return true;
}

/* Adds the frame's function; false: it makes no sense. */
static bool add_frame(python_walk *w)
{
    const layout *l = python.layout;
    if (!is_mapped(w, w->frame, FRAME_BYTES)) return false;
    uint64_t code = word_at(w->frame, l->code) & ~(uint64_t)REFERENCE_TAG, place = word_at(w->frame, l->place);
    if (!is_mapped(w, code, l->instructions) || word_at(code, TYPE) != (uintptr_t)python.code_type) return false;
    /* Frames that are being made, and those that the interpreter puts between a class and its __init__. */
    uint64_t first = code + l->instructions + UNIT * (uint64_t)half_at(code, l->first_traced);
    if (place < code + l->instructions || (place < first && byte_at(w->frame, l->owner) != OWNED_BY_GENERATOR))
        return true;
    uint32_t id = name_of(w->t, w->session, code, place);
    if (id) w->t->python[w->count++] = HD_SESSION_FRAME(id);
    return true;
}

static void end_run(python_walk *w, uint64_t mark)
{
    w->t->runs[w->run_count++] = (stack_run){mark, w->count};
}

/* All functions, or those that there is room for. */
static bool walk(python_walk *w)
{
    const layout *l = python.layout;
    while (w->frame != w->outermost && w->frame && w->count < HD_SESSION_STACK_MAX &&
           w->run_count < HD_SESSION_STACK_MAX - 1) {
        bool is_mark = !l->is_entry && byte_at(w->frame, l->owner) >= OWNED_BY_C;
        if (!is_mark && !add_frame(w)) return false;
        if (is_mark) end_run(w, w->frame);
        if (l->is_entry && byte_at(w->frame, l->is_entry)) {
            end_run(w, w->cframe);
            w->cframe = word_at(w->cframe, l->cframe_previous);
            if (!w->cframe || !is_mapped(w, w->cframe, 24)) return false;
        }
        w->frame = word_at(w->frame, l->previous);
        if (w->frame && !is_mapped(w, w->frame, FRAME_BYTES)) return false;
    }
    if (w->frame == w->outermost) w->frame = 0;
    if (!w->run_count || w->t->runs[w->run_count - 1].end < w->count) end_run(w, UINT64_MAX);
    return true;
}

static bool put(stack_thread *t, uint32_t *count, uint64_t frame)
{
    if (*count == HD_SESSION_STACK_MAX) return false;
    t->merged[(*count)++] = frame;
    return true;
}

static uint32_t merge(python_walk *w, uint32_t native_count, bool *truncated)
{
    stack_thread *t = w->t;
    uint32_t out = 0, native = 0, python_at = 0;
    bool has_room = true;
    for (uint32_t i = 0; i < w->run_count; i++) {
        while (native < native_count && t->bounds[native] <= t->runs[i].mark) {
            has_room &= put(t, &out, t->frames[native]);
            native++;
        }
        if (native < native_count) native++; /* the interpreter's loop */
        for (; python_at < t->runs[i].end; python_at++) has_room &= put(t, &out, t->python[python_at]);
    }
    for (; native < native_count; native++) has_room &= put(t, &out, t->frames[native]);
    if (!has_room || w->frame) *truncated = true;
    return out;
}

uint32_t stack_python_merge(stack_thread *t, hd_session *session, uint32_t count, bool *truncated)
{
    int state = atomic_load_explicit(&python.state, memory_order_acquire);
    python_walk w = {.t = t, .session = session, .check = state == PYTHON_UNCHECKED};
    if (state != PYTHON_READY && state != PYTHON_UNCHECKED) return 0;
    if (!python.is_initialized() || python.is_finalizing()) return 0;
    if (!begin(&w)) return 0;
    if (!walk(&w)) {
        if (w.check) atomic_store(&python.state, PYTHON_UNSUPPORTED);
        return 0;
    }
    if (!w.count) return 0;
    atomic_store(&python.state, PYTHON_READY);
    return merge(&w, count, truncated);
}
