/* names.c - shortens C++ names to the function name that an engineer would use
 *
 * A demangled name is read once from left to right as
 *
 *     [return type ' '] component {'::' component} ['(' parameters ')' [qualifiers]] [' [clone .x]']
 *
 * where a component may carry template arguments and ABI tags, and parameters may be followed by '::' (local to a
 * function). Brackets are matched with a stack, so the time is linear. Other texts are not C++ names and are kept:
 * texts with blanks but without parameters, Python frames, file names, "Memcpy HtoD (Pageable -> Device)".
 */
#include "heddle/names.h"

#include "base/demangle/demangle.h"
#include "base/text/ends.h"
#include "trace/text.h"

static const char ellipsis[] = "\xe2\x80\xa6";
enum { ELLIPSIS_BYTES = 3, BRACKET_DEPTH = 512 };

/* ---- the reader ---- */

typedef struct name_reader {
    const char *at, *end;
    const char *args, *args_end; /* the template arguments of the last component, with brackets; NULL: none */
    char *out;
    size_t size;
    bool is_full;     /* the short name is longer than the buffer */
    bool is_cut;      /* the text ends with "…": brackets may be open */
    bool has_blank;   /* there was a blank, after a possible return type */
    bool has_pointer; /* '*' or '&' after the component: it is a type, and a blank must follow */
    bool has_params;  /* there were parameters, of the last component or of an outer one */
    bool is_wrapped;  /* inside "(*name(…))(…)", a function that returns a pointer to one */
} name_reader;

static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '$' ||
           (unsigned char)c >= 0x80;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool starts(const name_reader *r, const char *text)
{
    return hd_starts_with(r->at, (size_t)(r->end - r->at), text);
}

static bool take(name_reader *r, const char *text)
{
    if (!starts(r, text)) return false;
    r->at += strlen(text);
    return true;
}

static char peek(const name_reader *r, size_t ahead)
{
    return (size_t)(r->end - r->at) > ahead ? r->at[ahead] : '\0';
}

static void put(name_reader *r, const char *data, size_t size)
{
    if (r->is_full) return;
    if (size > HD_NAME_BYTES - r->size) {
        size = HD_NAME_BYTES - r->size;
        r->is_full = true;
    }
    memcpy(r->out + r->size, data, size);
    r->size += size;
}

static void put_text(name_reader *r, const char *text)
{
    put(r, text, strlen(text));
}

/* ---- brackets and operators ---- */

/* Whether the word "operator", not a part of a longer word, is at r->at. */
static bool at_operator(const name_reader *r, const char *begin)
{
    return starts(r, "operator") && !is_word(peek(r, 8)) && (r->at == begin || !is_word(r->at[-1]));
}

/* The symbol of an operator, longest first; NULL if there is none. */
static const char *operator_symbol(const name_reader *r)
{
    static const char *const symbols[] = {
        "<=>", "<<=", ">>=", "->*", "()", "[]", "->", "<<", ">>", "<=", ">=", "==", "!=", "&&",
        "||",  "++",  "--",  "+=",  "-=", "*=", "/=", "%=", "^=", "&=", "|=", "<",  ">",  "=",
        "+",   "-",   "*",   "/",   "%",  "^",  "&",  "|",  "~",  "!",  ",",  NULL,
    };
    for (size_t i = 0; symbols[i]; i++) {
        if (starts(r, symbols[i])) return symbols[i];
    }
    return NULL;
}

static char closing(char open)
{
    return open == '(' ? ')' : open == '<' ? '>' : open == '[' ? ']' : '}';
}

/* One step inside brackets: characters that only look like brackets are skipped. false: too deep, or the wrong closing
 * bracket. */
static bool step_inside(name_reader *r, const char *begin, char *stack, size_t *depth)
{
    char c = *r->at;
    if (c == 'o' && at_operator(r, begin)) {
        r->at += 8;
        const char *symbol = operator_symbol(r);
        if (symbol) r->at += strlen(symbol);
        return true;
    }
    r->at++;
    if (c == '-' && r->at < r->end && *r->at == '>') {
        r->at++;
        return true;
    }
    bool is_less = c == '<' && r->at - begin > 1 && r->at[-2] == ')' && r->at < r->end && *r->at == '(';
    if ((c == '(' || c == '<' || c == '[' || c == '{') && !is_less) {
        if (*depth == BRACKET_DEPTH) return false;
        stack[(*depth)++] = c;
    } else if (c == '>') { /* within parentheses it may mean "greater" */
        if (stack[*depth - 1] == '<') --*depth;
    } else if (c == ')' || c == ']' || c == '}') {
        while (*depth && stack[*depth - 1] == '<' && *depth > 1) --*depth; /* that was "less" */
        if (closing(stack[*depth - 1]) != c) return false;
        --*depth;
    }
    return true;
}

/* Moves from the bracket at r->at to behind its closing bracket. */
static bool skip_brackets(name_reader *r)
{
    char stack[BRACKET_DEPTH];
    size_t depth = 1;
    const char *begin = r->at;
    stack[0] = *r->at++;
    while (depth && r->at < r->end) {
        if (!step_inside(r, begin, stack, &depth)) return false;
    }
    return depth == 0 || r->is_cut;
}

/* ---- components ---- */

/* An unnamed namespace, which is removed together with the "::" after it. */
static bool take_anonymous(name_reader *r)
{
    static const char *const spellings[] = {
        "(anonymous namespace)::",
        "{anonymous}::",
        "<unnamed>::",
        "`anonymous namespace'::",
        "`anonymous-namespace'::",
        "`unnamed namespace'::",
        "'anonymous namespace'::",
        "(anonymous)::",
        "_GLOBAL__N_1::",
        NULL,
    };
    for (size_t i = 0; spellings[i]; i++) {
        if (take(r, spellings[i])) return true;
    }
    return false;
}

static void put_lambda(name_reader *r, const char *digits, size_t size)
{
    put_text(r, "{lambda#");
    put(r, size ? digits : "1", size ? size : 1);
    put_text(r, "}");
}

/* The last number of the text, which is a lambda's. */
static void put_lambda_of(name_reader *r, const char *begin, const char *end)
{
    while (end > begin && !is_digit(end[-1])) end--;
    const char *from = end;
    while (from > begin && is_digit(from[-1])) from--;
    bool is_number = from > begin && (from[-1] == '#' || from[-1] == ' ');
    put_lambda(r, from, is_number ? (size_t)(end - from) : 0);
}

/* "{lambda(int)#1}", and nvcc's "[lambda(int) (instance 1)]". Other braces are kept. */
static bool read_braces(name_reader *r)
{
    const char *begin = r->at;
    bool is_lambda = starts(r, "{lambda") || starts(r, "[lambda");
    if (!is_lambda && *begin == '[') return false;
    if (!skip_brackets(r)) return false;
    if (is_lambda)
        put_lambda_of(r, begin, r->at);
    else
        put(r, begin, (size_t)(r->at - begin));
    return true;
}

/* clang's 'lambda'(int) is the first, 'lambda0'(int) the second; 'unnamed', `2' and others are kept. */
static bool read_quoted(name_reader *r)
{
    const char *begin = r->at++;
    while (r->at < r->end && *r->at != '\'') {
        if (!is_word(*r->at) && *r->at != ' ' && *r->at != '-') return false;
        r->at++;
    }
    if (!take(r, "'")) return false;
    size_t size = (size_t)(r->at - begin) - 2;
    if (size < 6 || memcmp(begin + 1, "lambda", 6) != 0) {
        put(r, begin, size + 2);
        return true;
    }
    char digits[24];
    size_t n = sizeof digits;
    uint64_t number = 0;
    for (size_t i = 7; i <= size && i < 16 && is_digit(begin[i]); i++)
        number = number * 10 + (uint64_t)(begin[i] - '0');
    for (number += size > 6 ? 2 : 1; number; number /= 10) digits[--n] = (char)('0' + number % 10);
    put_lambda(r, digits + n, sizeof digits - n);
    return peek(r, 0) != '(' || skip_brackets(r);
}

/* The type of a conversion: "operator bool", "operator std::vector<int>*". */
static bool read_conversion(name_reader *r)
{
    put_text(r, " ");
    while (r->at < r->end && *r->at != '(') {
        if (*r->at == '<') {
            if (!skip_brackets(r)) return false;
            continue;
        }
        put(r, r->at++, 1);
    }
    return true;
}

static bool read_operator(name_reader *r)
{
    r->at += 8;
    put_text(r, "operator");
    const char *before = r->at;
    bool has_blank = take(r, " ");
    const char *symbol = operator_symbol(r);
    if (symbol) {
        put_text(r, symbol);
        r->at += strlen(symbol);
    } else if (take(r, "\"\"")) { /* of a literal: operator"" _ms */
        put_text(r, "\"\" ");
        take(r, " ");
        const char *word = r->at;
        while (r->at < r->end && is_word(*r->at)) r->at++;
        put(r, word, (size_t)(r->at - word));
    } else if (!has_blank || !is_word(peek(r, 0))) {
        r->at = before;
        return false;
    } else if (!read_conversion(r)) {
        return false;
    }
    if (starts(r, " <")) r->at++;
    return true;
}

static bool read_component(name_reader *r, const char *begin)
{
    while (take_anonymous(r)) {}
    if (r->at == r->end) return false;
    char c = *r->at;
    if (c == '{' || c == '[') return read_braces(r);
    if (c == '\'' || c == '`') return read_quoted(r);
    if (starts(r, "<lambda")) { /* of MSVC: <lambda_1> */
        const char *from = r->at;
        if (!skip_brackets(r)) return false;
        put(r, from, (size_t)(r->at - from));
        return true;
    }
    if (at_operator(r, begin)) return read_operator(r);
    if (take(r, "~")) put_text(r, "~");
    const char *word = r->at;
    while (r->at < r->end && is_word(*r->at) && !(r->is_cut && r->end - r->at == ELLIPSIS_BYTES)) r->at++;
    if (r->at == word) return false;
    size_t size = (size_t)(r->at - word);
    put(r, word, size);
    if (size == 8 && memcmp(word, "decltype", 8) == 0) { /* a return type */
        take(r, " ");
        return peek(r, 0) == '(' && skip_brackets(r);
    }
    return true;
}

/* ---- the whole name ---- */

/* " const", "&&" and so on after parameters. */
static void skip_qualifiers(name_reader *r)
{
    static const char *const words[] = {" const", " volatile", " restrict", " noexcept", " &&", " &", "&&", "&", NULL};
    for (size_t i = 0; words[i];) i = take(r, words[i]) ? 0 : i + 1;
}

/* Types do not begin with a digit, and have '=' only in operators: "step(3)" and "forward(batch=2)" are not C++. */
static bool are_params(const char *from, const char *to)
{
    if (to - from > 1 && is_digit(from[1])) return false;
    for (const char *p = from + 1; p < to; p++) {
        if (*p == '=' && !strchr("=<>!+-*/%^&|r", p[-1]) && p + 1 < to && p[1] != '=') return false;
    }
    return true;
}

static bool read_params(name_reader *r)
{
    const char *from = r->at;
    if (!skip_brackets(r) || !are_params(from, r->at)) return false;
    r->has_params = true;
    skip_qualifiers(r);
    if (r->is_wrapped && take(r, ")")) { /* the parameters of the pointed-to function */
        take(r, " ");
        r->is_wrapped = false;
        while (peek(r, 0) == '(' || peek(r, 0) == '[') {
            if (!skip_brackets(r)) return false;
        }
        return r->at == r->end || starts(r, " [clone");
    }
    return r->at == r->end || starts(r, "::") || starts(r, " [") || (r->is_wrapped && *r->at == ')');
}

/* " [clone .isra.0]" and gcc's " [with T = int]" end a name. */
static bool at_tail(const name_reader *r)
{
    return starts(r, " [clone ") || starts(r, " [with ");
}

/* A blank: the text before it was a return type, or a part of one. */
static bool read_blank(name_reader *r)
{
    r->at++;
    r->size = 0;
    r->is_full = false;
    if (r->has_params) return false;
    r->has_blank = true;
    r->has_pointer = false;
    if (!r->is_wrapped && (starts(r, "(*") || starts(r, "(&"))) {
        r->at += 2;
        r->is_wrapped = true;
    }
    take(r, "::"); /* nvcc writes "void ::name" */
    return true;
}

/* The part after a component. *out_more: another component follows. */
static bool read_behind(name_reader *r, bool *out_more)
{
    *out_more = false;
    while (r->at < r->end && !at_tail(r)) {
        if (r->is_cut && r->end - r->at == ELLIPSIS_BYTES) {
            r->at = r->end;
            return true;
        }
        char c = *r->at;
        if (take(r, "::")) {
            if (r->has_pointer) return false;
            r->args = NULL;
            put_text(r, "::");
            *out_more = true;
            return true;
        }
        if (c == ' ') {
            *out_more = true;
            r->args = NULL;
            return read_blank(r);
        }
        if (c == '*' || c == '&') {
            r->has_pointer = true;
            r->at++;
        } else if (c == '<' || starts(r, "[abi:")) {
            const char *from = r->at;
            if (!skip_brackets(r)) return false;
            if (c == '<') {
                r->args = from;
                r->args_end = r->at;
            }
        } else if (c == '(') {
            if (r->has_pointer || !read_params(r)) return false;
        } else {
            return false;
        }
    }
    return true;
}

/* "jit(f)" of JAX is f, compiled: without the function in parentheses all would have one name. */
static bool at_transformation(const name_reader *r)
{
    static const char *const words[] = {"jit(",        "pjit(",      "pmap(",         "vmap(",         "jvp(",
                                        "vjp(",        "transpose(", "custom_jvp(",   "custom_vjp(",   "remat(",
                                        "checkpoint(", "shard_map(", "PjitFunction(", "PmapFunction(", NULL};
    const char *p = r->at;
    for (size_t i = 0; words[i]; i++) {
        if (!starts(r, words[i])) continue;
        for (p += strlen(words[i]); p < r->end && (is_word(*p) || strchr("<>.", *p)); p++) {}
        return p + 1 == r->end && *p == ')';
    }
    return false;
}

static bool read_name(name_reader *r)
{
    const char *begin = r->at;
    if (at_transformation(r)) return false;
    take(r, "::");
    for (bool more = true; more;) {
        if (!read_component(r, begin) || !read_behind(r, &more)) return false;
    }
    if (r->at < r->end && r->end[-1] != ']') return false;
    return r->size && !r->has_pointer && !r->is_wrapped && (r->has_params || !r->has_blank || r->is_cut);
}

/* ---- into the caller's memory ---- */

/* Cuts before a UTF-8 sequence that does not fit. */
static size_t end_with_ellipsis(char out[HD_NAME_BYTES])
{
    size_t size = HD_NAME_BYTES - ELLIPSIS_BYTES;
    for (int i = 0; i < 3 && size && ((unsigned char)out[size] & 0xc0) == 0x80; i++) size--;
    memcpy(out + size, ellipsis, ELLIPSIS_BYTES);
    return size + ELLIPSIS_BYTES;
}

static size_t copy_name(char out[HD_NAME_BYTES], hd_string name)
{
    size_t size = name.size < HD_NAME_BYTES ? name.size : HD_NAME_BYTES;
    if (size) memcpy(out, name.data, size);
    return name.size > HD_NAME_BYTES ? end_with_ellipsis(out) : size;
}

size_t hd_name_demangle(char out[HD_NAME_BYTES], hd_string name)
{
    bool is_cut = false;
    size_t size = hd_demangle(out, HD_NAME_BYTES, &is_cut, name.data, name.size);
    if (size == 0) return copy_name(out, name);
    return is_cut ? end_with_ellipsis(out) : size;
}

/* The name as it is read, into *r; demangled is the caller's memory. false: it is not C++. */
static bool read_short(name_reader *r, char demangled[HD_NAME_BYTES], char *out, hd_string *name)
{
    if (name->size > 2 && name->data[0] == '_' && name->data[1] == 'Z') {
        size_t size = hd_name_demangle(demangled, *name);
        *name = (hd_string){demangled, size};
    }
    *r = (name_reader){.at = name->data, .end = name->data + name->size, .out = out};
    r->is_cut = name->size > ELLIPSIS_BYTES && memcmp(r->end - ELLIPSIS_BYTES, ellipsis, ELLIPSIS_BYTES) == 0;
    return name->size && read_name(r);
}

size_t hd_name_short(char out[HD_NAME_BYTES], hd_string name)
{
    char demangled[HD_NAME_BYTES];
    name_reader r;
    if (!read_short(&r, demangled, out, &name)) return copy_name(out, name);
    return r.is_full ? end_with_ellipsis(out) : r.size;
}

/* ---- instances of a template ---- */

enum { LABEL_WORDS = 4, LABEL_BYTES = 64 };

static bool is_same(hd_string a, hd_string b)
{
    return a.size == b.size && memcmp(a.data, b.data, a.size) == 0;
}

/* Words that occur in the arguments of nearly all kernels, and numbers. */
static bool says_nothing(hd_string word)
{
    static const char *const words[] = {"void",     "const", "unsigned", "volatile", "struct",
                                        "operator", "true",  "false",    NULL};
    for (size_t i = 0; words[i]; i++) {
        if (hd_string_is(word, words[i])) return true;
    }
    return is_digit(word.data[0]);
}

/* The next word of template arguments, without the namespaces before it. What is of std (arrays, integral constants),
 * parameters, lambdas and numbers are skipped. */
static bool next_word(name_reader *r, hd_string *word)
{
    while (r->at < r->end) {
        if (*r->at == '(' || *r->at == '{' || *r->at == '[') {
            if (!skip_brackets(r)) return false;
            continue;
        }
        if (!is_word(*r->at)) {
            r->at++;
            continue;
        }
        const char *from = r->at;
        while (r->at < r->end && is_word(*r->at)) r->at++;
        *word = (hd_string){from, (size_t)(r->at - from)};
        bool is_std = hd_string_is(*word, "std");
        if (!starts(r, "::")) {
            if (!says_nothing(*word)) return true;
            continue;
        }
        while (is_std && r->at < r->end && (is_word(*r->at) || *r->at == ':')) r->at++;
        if (is_std && peek(r, 0) == '<' && !skip_brackets(r)) return false;
    }
    return false;
}

size_t hd_name_label(char out[HD_NAME_BYTES], hd_string name)
{
    char demangled[HD_NAME_BYTES];
    name_reader r;
    hd_string words[LABEL_WORDS], word;
    size_t count = 0, bytes = 0;
    if (!read_short(&r, demangled, out, &name)) return copy_name(out, name);
    name_reader args = {.at = r.args, .end = r.args_end};
    while (r.args && count < LABEL_WORDS && next_word(&args, &word)) {
        bool is_known = false;
        for (size_t i = 0; i < count; i++) is_known |= is_same(words[i], word);
        bytes += word.size + 2;
        if (is_known) continue;
        if (count && bytes > LABEL_BYTES) break;
        words[count++] = word;
    }
    for (size_t i = 0; i < count; i++) {
        put_text(&r, i ? ", " : "<");
        put(&r, words[i].data, words[i].size);
    }
    if (count) put_text(&r, ">");
    return r.is_full ? end_with_ellipsis(out) : r.size;
}

/* ---- what profilers put around names ---- */

hd_string hd_name_without_version(hd_string name)
{
    size_t at = name.size;
    while (at && is_digit(name.data[at - 1])) at--;
    bool is_version = name.size - at >= 4 && at > 2 && memcmp(name.data + at - 2, "_v", 2) == 0;
    return is_version ? (hd_string){name.data, at - 2} : name;
}

hd_string hd_name_plain(hd_string name)
{
    static const struct {
        const char *text;
        bool is_call;
    } before[] = {{"Kernel: ", false}, {"MemCopy: ", false}, {"Memcpy: ", false}, {"MemSet: ", false},
                  {"Memset: ", false}, {"Runtime: ", true},  {"Driver: ", true}};
    for (size_t i = 0; i < sizeof before / sizeof *before; i++) {
        size_t size = strlen(before[i].text);
        if (name.size <= size || memcmp(name.data, before[i].text, size) != 0) continue;
        name = (hd_string){name.data + size, name.size - size};
        return before[i].is_call ? hd_name_without_version(name) : name;
    }
    return name;
}
