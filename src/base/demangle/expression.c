/* expression.c - expressions of the Itanium C++ ABI, as in template arguments and decltypes */
#include "base/demangle/impl.h"

const dm_operator *dm_find_operator(const dm_reader *r)
{
    static const dm_operator operators[] = {
        {"aN", 2, "&="},        {"aS", 2, "="},        {"aa", 2, "&&"},        {"ad", 1, "&"},
        {"an", 2, "&"},         {"at", 4, "alignof "}, {"aw", 1, "co_await "}, {"az", 4, "alignof "},
        {"cl", 2, "()"},        {"cm", 2, ","},        {"co", 1, "~"},         {"dV", 2, "/="},
        {"da", 1, "delete[] "}, {"de", 1, "*"},        {"dl", 1, "delete "},   {"ds", 2, ".*"},
        {"dt", 4, "."},         {"dv", 2, "/"},        {"eO", 2, "^="},        {"eo", 2, "^"},
        {"eq", 2, "=="},        {"ge", 2, ">="},       {"gt", 2, ">"},         {"ix", 2, "[]"},
        {"lS", 2, "<<="},       {"le", 2, "<="},       {"ls", 2, "<<"},        {"lt", 2, "<"},
        {"mI", 2, "-="},        {"mL", 2, "*="},       {"mi", 2, "-"},         {"ml", 2, "*"},
        {"mm", 1, "--"},        {"na", 3, "new[]"},    {"ne", 2, "!="},        {"ng", 1, "-"},
        {"nt", 1, "!"},         {"nw", 3, "new"},      {"oR", 2, "|="},        {"oo", 2, "||"},
        {"or", 2, "|"},         {"pL", 2, "+="},       {"pl", 2, "+"},         {"pm", 2, "->*"},
        {"pp", 1, "++"},        {"ps", 1, "+"},        {"pt", 2, "->"},        {"qu", 3, "?"},
        {"rM", 2, "%="},        {"rS", 2, ">>="},      {"rm", 2, "%"},         {"rs", 2, ">>"},
        {"ss", 2, "<=>"},       {"st", 4, "sizeof "},  {"sz", 4, "sizeof "},
    };
    for (size_t i = 0; i < sizeof operators / sizeof *operators; i++) {
        const dm_operator *op = &operators[i];
        if (dm_peek(r, 0) == op->code[0] && dm_peek(r, 1) == op->code[1]) return op;
    }
    return NULL;
}

/* ---- literals ---- */

static dm_string literal_value(dm_reader *r)
{
    bool is_negative = dm_take(r, "n");
    const char *begin = r->at;
    while (r->at < r->end && *r->at != 'E') r->at++;
    return DM_CAT(r, dm_lit(is_negative ? "-" : ""), {begin, (size_t)(r->at - begin)});
}

dm_text dm_literal(dm_reader *r)
{
    static const char suffixed[] = "ijlmxy";
    static const char *const suffixes[] = {"", "u", "l", "ul", "ll", "ull"};
    if (!dm_take(r, "L")) return dm_fail(r);
    if (dm_take(r, "_Z") || dm_take(r, "Z")) {
        const dm_param *params = r->params;
        dm_text text = dm_encoding(r, true);
        r->params = params;
        if (!dm_take(r, "E")) return dm_fail(r);
        text.left = dm_flat(r, &text);
        text.right = dm_lit("");
        return text;
    }
    char c = dm_peek(r, 0);
    dm_text type = dm_type(r);
    const char *at = c ? strchr(suffixed, c) : NULL;
    bool is_bool = c == 'b' && (dm_peek(r, 0) == '0' || dm_peek(r, 0) == '1') && dm_peek(r, 1) == 'E';
    dm_string value = literal_value(r), text;
    if (at)
        text = DM_CAT(r, value, dm_lit(suffixes[at - suffixed]));
    else if (is_bool)
        text = dm_lit(value.size && value.data[0] == '1' ? "true" : "false");
    else if (c == 'f' || c == 'd' || c == 'e' || c == 'g')
        text = DM_CAT(r, dm_lit("("), dm_flat(r, &type), dm_lit(")["), value, dm_lit("]"));
    else
        text = DM_CAT(r, dm_lit("("), dm_flat(r, &type), dm_lit(")"), value);
    if (!dm_take(r, "E")) return dm_fail(r);
    dm_text out = dm_plain(text);
    out.is_simple = false;
    return out;
}

/* ---- operands ---- */

static dm_string operand(dm_reader *r, const dm_text *text)
{
    dm_string flat = dm_flat(r, text);
    return text->is_simple ? flat : DM_CAT(r, dm_lit("("), flat, dm_lit(")"));
}

static dm_text complex(dm_string s)
{
    dm_text text = dm_plain(s);
    text.is_simple = false;
    return text;
}

static dm_text expanded(dm_reader *r)
{
    return dm_expression(r);
}

/* Expressions up to 'E'. */
static dm_string arguments(dm_reader *r)
{
    dm_arg *args = NULL, **tail = &args;
    while (!r->failed && !dm_take(r, "E")) {
        if (dm_take(r, "sp"))
            dm_expand(r, &tail, expanded);
        else
            dm_push(r, &tail, dm_expression(r));
    }
    return dm_join(r, args);
}

static dm_text function_param(dm_reader *r)
{
    if (dm_take(r, "fpT")) return dm_plain(dm_lit("this"));
    if (dm_take(r, "fL")) {
        dm_number(r);
        if (!dm_take(r, "p")) return dm_fail(r);
    } else if (!dm_take(r, "fp")) {
        return dm_fail(r);
    }
    while (dm_take(r, "r") || dm_take(r, "V") || dm_take(r, "K")) {}
    return dm_plain(DM_CAT(r, dm_lit("{parm#"), dm_decimal(r, dm_index(r) + 1), dm_lit("}")));
}

static dm_text cast(dm_reader *r)
{
    dm_text type = dm_type(r);
    dm_string name = dm_flat(r, &type);
    if (dm_take(r, "_")) return complex(DM_CAT(r, dm_lit("("), name, dm_lit(")("), arguments(r), dm_lit(")")));
    dm_text value = dm_expression(r);
    return complex(DM_CAT(r, dm_lit("("), name, dm_lit(")"), operand(r, &value)));
}

static dm_text named_cast(dm_reader *r, const char *word)
{
    dm_text type = dm_type(r);
    dm_text value = dm_expression(r);
    return complex(
        DM_CAT(r, dm_lit(word), dm_lit("<"), dm_flat(r, &type), dm_lit(">("), dm_flat(r, &value), dm_lit(")")));
}

/* A name that is not resolved: "f", "f<int>", "operator+". */
static dm_text simple_name(dm_reader *r)
{
    dm_traits traits;
    dm_text text = dm_unqualified(r, dm_lit(""), &traits);
    if (dm_peek(r, 0) == 'I' && !r->failed) {
        text = dm_with_args(r, text);
        text.is_simple = false;
    }
    return text;
}

/* Names of namespaces and classes up to 'E' and the name after it, as clang writes them. Older compilers write one type
 * and no 'E': then nothing is read. */
static bool read_levels(dm_reader *r, dm_string *path)
{
    const char *begin = r->at;
    size_t sub_count = r->sub_count;
    dm_string all = dm_lit("");
    while (dm_is_digit(dm_peek(r, 0)) && !r->failed) {
        dm_string level = dm_source_name(r);
        if (dm_peek(r, 0) == 'I') level = dm_template_args(r, level);
        all = DM_CAT(r, all, level, dm_lit("::"));
    }
    char next = dm_peek(r, 1);
    if (!r->failed && dm_peek(r, 0) == 'E' && (dm_is_digit(next) || next == 'o')) {
        r->at++;
        *path = all;
        return true;
    }
    r->at = begin;
    r->sub_count = sub_count;
    return false;
}

/* "T::member", and the longer form with several qualifiers. */
static dm_text scoped_name(dm_reader *r)
{
    dm_string path;
    if (dm_is_digit(dm_peek(r, 0)) && read_levels(r, &path)) {
        dm_take(r, "on");
        dm_text last = simple_name(r);
        return dm_plain(DM_CAT(r, path, last.left));
    }
    if (dm_take(r, "N")) {
        dm_text type = dm_type(r);
        path = dm_flat(r, &type);
        while (!r->failed && !dm_take(r, "E")) {
            dm_text level = simple_name(r);
            path = DM_CAT(r, path, dm_lit("::"), level.left);
        }
        dm_text last = simple_name(r);
        return dm_plain(DM_CAT(r, path, dm_lit("::"), last.left));
    }
    dm_text type = dm_type(r), last = simple_name(r);
    dm_text text = dm_plain(DM_CAT(r, dm_flat(r, &type), dm_lit("::"), last.left));
    return text;
}

static dm_text call(dm_reader *r)
{
    dm_text function = dm_expression(r);
    if (function.name.size) function = dm_plain(function.name);
    dm_string name = operand(r, &function);
    return complex(DM_CAT(r, name, dm_lit("("), arguments(r), dm_lit(")")));
}

static dm_text size_of_pack(dm_reader *r)
{
    dm_arg *args = NULL, **tail = &args;
    size_t count = 0;
    dm_expand(r, &tail, dm_peek(r, 0) == 'T' ? dm_template_param : function_param);
    for (; args; args = args->next) count++;
    return complex(dm_decimal(r, count));
}

static dm_text braced(dm_reader *r, bool has_type)
{
    dm_string type = dm_lit("");
    if (has_type) {
        dm_text text = dm_type(r);
        type = dm_flat(r, &text);
    }
    return dm_plain(DM_CAT(r, type, dm_lit("{"), arguments(r), dm_lit("}")));
}

static dm_text one_operand(dm_reader *r, const dm_operator *op)
{
    bool is_prefix = (strcmp(op->code, "pp") != 0 && strcmp(op->code, "mm") != 0) || dm_take(r, "_");
    dm_text value = dm_expression(r);
    if (strcmp(op->code, "ad") == 0 && value.name.size && memchr(value.name.data, ':', value.name.size))
        value = dm_plain(value.name);
    dm_string text = operand(r, &value);
    return complex(is_prefix ? DM_CAT(r, dm_lit(op->text), text) : DM_CAT(r, text, dm_lit(op->text)));
}

static dm_text two_operands(dm_reader *r, const dm_operator *op)
{
    dm_text left = dm_expression(r), right = dm_expression(r);
    dm_string a = operand(r, &left), b = operand(r, &right);
    if (strcmp(op->code, "ix") == 0) return complex(DM_CAT(r, a, dm_lit("["), dm_flat(r, &right), dm_lit("]")));
    if (strcmp(op->code, "gt") == 0) return complex(DM_CAT(r, dm_lit("("), a, dm_lit(">"), b, dm_lit(")")));
    return complex(DM_CAT(r, a, dm_lit(op->text), b));
}

static dm_text operation(dm_reader *r, const dm_operator *op)
{
    r->at += 2;
    if (strcmp(op->code, "cl") == 0) return call(r);
    if (strcmp(op->code, "st") == 0 || strcmp(op->code, "at") == 0) {
        dm_text type = dm_type(r);
        return complex(DM_CAT(r, dm_lit(op->text), dm_lit("("), dm_flat(r, &type), dm_lit(")")));
    }
    if (strcmp(op->code, "dt") == 0) {
        dm_text object = dm_expression(r), member = dm_expression(r);
        return complex(DM_CAT(r, operand(r, &object), dm_lit("."), operand(r, &member)));
    }
    if (strcmp(op->code, "qu") == 0) {
        dm_text a = dm_expression(r), b = dm_expression(r), c = dm_expression(r);
        return complex(DM_CAT(r, operand(r, &a), dm_lit("?"), operand(r, &b), dm_lit(" : "), operand(r, &c)));
    }
    if (op->arity == 3) return dm_fail(r); /* new */
    return op->arity == 2 ? two_operands(r, op) : one_operand(r, op);
}

static dm_text any_expression(dm_reader *r)
{
    char c = dm_peek(r, 0);
    if (c == 'L') return dm_literal(r);
    if (c == 'T') return dm_template_param(r);
    if (c == 'f' && (dm_peek(r, 1) == 'p' || (dm_peek(r, 1) == 'L' && dm_is_digit(dm_peek(r, 2)))))
        return function_param(r);
    if (dm_is_digit(c)) return simple_name(r);
    if (dm_take(r, "on")) return simple_name(r);
    if (dm_take(r, "sr")) return scoped_name(r);
    if (dm_take(r, "gs")) return dm_expression(r);
    if (dm_take(r, "cv")) return cast(r);
    if (dm_take(r, "sc")) return named_cast(r, "static_cast");
    if (dm_take(r, "dc")) return named_cast(r, "dynamic_cast");
    if (dm_take(r, "cc")) return named_cast(r, "const_cast");
    if (dm_take(r, "rc")) return named_cast(r, "reinterpret_cast");
    if (dm_take(r, "sZ")) return size_of_pack(r);
    if (dm_take(r, "il")) return braced(r, false);
    if (dm_take(r, "tl")) return braced(r, true);
    if (dm_take(r, "nx")) {
        dm_text text = dm_expression(r);
        return complex(DM_CAT(r, dm_lit("noexcept("), dm_flat(r, &text), dm_lit(")")));
    }
    if (dm_take(r, "sp")) {
        dm_arg *args = NULL, **tail = &args;
        dm_expand(r, &tail, expanded);
        return complex(dm_join(r, args));
    }
    const dm_operator *op = dm_find_operator(r);
    return op ? operation(r, op) : dm_fail(r);
}

dm_text dm_expression(dm_reader *r)
{
    if (!dm_enter(r)) return dm_fail(r);
    bool keeps = r->keeps_params;
    r->keeps_params = false;
    dm_text text = any_expression(r);
    r->keeps_params = keeps;
    r->depth--;
    return text;
}
