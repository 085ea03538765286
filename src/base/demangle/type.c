/* type.c - types of the Itanium C++ ABI: builtins, declarators, substitutions, packs */
#include "base/demangle/impl.h"

/* ---- lists and packs ---- */

void dm_push(dm_reader *r, dm_arg ***tail, dm_text text)
{
    dm_arg *arg = dm_new(r, sizeof *arg);
    if (!arg) return;
    *arg = (dm_arg){.text = text};
    **tail = arg;
    *tail = &arg->next;
}

/* Keeps the substitutions that element `index` of a pack added, after those of the earlier elements. */
static void keep_pack_subs(dm_reader *r, dm_text *others, size_t first, size_t fresh, size_t index)
{
    for (size_t i = 0; i < fresh && others; i++)
        if (r->sub_count > first + i) others[(index - 1) * fresh + i] = r->subs[first + i].text;
}

void dm_expand(dm_reader *r, dm_arg ***tail, dm_text (*read)(dm_reader *))
{
    const char *begin = r->at;
    size_t first = r->sub_count, outer_size = r->pack_size;
    int64_t outer_index = r->pack_index;
    bool outer_met = r->pack_met;
    if (!dm_enter(r)) return;
    r->pack_met = false;
    r->pack_size = 0;
    r->pack_index = 0;
    dm_text text = read(r);
    size_t fresh = r->sub_count - first, count = r->pack_met ? r->pack_size : 1;
    if (!r->pack_met) text.left = DM_CAT(r, dm_flat(r, &text), dm_lit("...")), text.right = dm_lit("");
    if (count) dm_push(r, tail, text);
    if (count > 1 && !r->failed) {
        dm_text *others = fresh <= DM_SUBSTITUTIONS ? dm_new(r, (count - 1) * fresh * sizeof *others) : NULL;
        dm_sub *kept = dm_new(r, fresh * sizeof *kept);
        if (kept && others) {
            memset(others, 0, (count - 1) * fresh * sizeof *others);
            if (fresh) memcpy(kept, r->subs + first, fresh * sizeof *kept);
            for (size_t i = 1; i < count && !r->failed; i++) {
                r->at = begin;
                r->sub_count = first;
                r->pack_index = (int64_t)i;
                dm_push(r, tail, read(r));
                keep_pack_subs(r, others, first, fresh, i);
            }
            for (size_t i = 0; i < fresh; i++) {
                kept[i].others = others + i;
                kept[i].count = count;
                kept[i].stride = fresh;
            }
            if (fresh) memcpy(r->subs + first, kept, fresh * sizeof *kept);
            r->sub_count = first + fresh;
        }
    }
    r->pack_index = outer_index;
    r->pack_size = outer_size;
    r->pack_met = outer_met;
    r->depth--;
}

static dm_text expanded_type(dm_reader *r)
{
    return dm_type(r);
}

void dm_type_item(dm_reader *r, dm_arg ***tail)
{
    if (!dm_take(r, "Dp")) {
        dm_push(r, tail, dm_type(r));
        return;
    }
    dm_arg **first = *tail;
    dm_mark begin = dm_mark_here(r, 2);
    dm_expand(r, tail, expanded_type);
    if (!r->failed) dm_add_sub(r, dm_plain(dm_join(r, *first)), begin); /* the expansion itself is a type */
}

dm_arg *dm_types(dm_reader *r)
{
    dm_arg *args = NULL, **tail = &args;
    if (dm_peek(r, 0) == 'v' && (r->end - r->at == 1 || strchr("E.RO", r->at[1]))) {
        r->at++;
        return NULL;
    }
    while (!r->failed && r->at < r->end && *r->at != 'E' && *r->at != '.') {
        char c = *r->at;
        if ((c == 'R' || c == 'O') && dm_peek(r, 1) == 'E') break; /* the reference qualifier of a function type */
        dm_type_item(r, &tail);
    }
    return args;
}

/* ---- T_ and S_ ---- */

dm_text dm_template_param(dm_reader *r)
{
    if (!dm_take(r, "T")) return dm_fail(r);
    uint64_t index = dm_index(r);
    r->params_read++;
    if (r->in_lambda) return dm_plain(DM_CAT(r, dm_lit("auto:"), dm_decimal(r, index + 1)));
    const dm_param *p = r->params;
    for (; p && index; index--) p = p->next;
    if (!p) return dm_fail(r);
    if (!p->is_pack) return p->args ? p->args->text : dm_fail(r);
    if (r->pack_index < 0) return dm_plain(dm_join(r, p->args));
    r->pack_met = true;
    r->pack_size = p->count;
    const dm_arg *a = p->args;
    for (int64_t i = 0; a && i < r->pack_index; i++) a = a->next;
    return a ? a->text : dm_plain(dm_lit(""));
}

static dm_text standard(dm_reader *r, const char *name, const char *full, const char *base, bool before_constructor)
{
    r->at++;
    char c = dm_peek(r, 0), d = dm_peek(r, 1);
    bool is_full = before_constructor && ((c == 'C' && d >= '1' && d <= '5') || (c == 'D' && d >= '0' && d <= '5'));
    dm_text text = dm_plain(dm_lit(is_full ? full : name));
    text.base = dm_lit(base);
    return text;
}

/* Reads a substitution again under other template arguments. */
static dm_text reread(dm_reader *r, const dm_sub *sub)
{
    const char *at = r->at, *end = r->end;
    bool rereads = r->rereads;
    r->at = sub->begin;
    r->end = sub->end;
    r->rereads = true;
    dm_text text = dm_type(r);
    if (r->at != r->end) r->failed = true;
    r->at = at;
    r->end = end;
    r->rereads = rereads;
    r->params_read++;
    return text;
}

dm_text dm_substitution(dm_reader *r, bool before_constructor)
{
    if (!dm_take(r, "S")) return dm_fail(r);
    bool b = before_constructor;
    switch (dm_peek(r, 0)) {
    case 'a': return standard(r, "std::allocator", "std::allocator", "allocator", b);
    case 'b': return standard(r, "std::basic_string", "std::basic_string", "basic_string", b);
    case 's':
        return standard(r, "std::string", "std::basic_string<char, std::char_traits<char>, std::allocator<char> >",
                        "basic_string", b);
    case 'i':
        return standard(r, "std::istream", "std::basic_istream<char, std::char_traits<char> >", "basic_istream", b);
    case 'o':
        return standard(r, "std::ostream", "std::basic_ostream<char, std::char_traits<char> >", "basic_ostream", b);
    case 'd':
        return standard(r, "std::iostream", "std::basic_iostream<char, std::char_traits<char> >", "basic_iostream", b);
    default: break;
    }
    uint64_t index = 0;
    if (!dm_take(r, "_")) {
        while (r->at < r->end && *r->at != '_' && index < DM_SUBSTITUTIONS) {
            char c = *r->at++;
            if (!dm_is_digit(c) && !(c >= 'A' && c <= 'Z')) return dm_fail(r);
            index = index * 36 + (uint64_t)(dm_is_digit(c) ? c - '0' : c - 'A' + 10);
        }
        index++;
        if (!dm_take(r, "_")) return dm_fail(r);
    }
    if (index >= r->sub_count) return dm_fail(r);
    const dm_sub *sub = &r->subs[index];
    if (sub->scope && sub->scope != r->params && !r->in_lambda) return reread(r, sub);
    r->params_read += sub->scope != NULL;
    if (sub->others && r->pack_index >= 0) {
        r->pack_met = true;
        r->pack_size = sub->count;
        if (r->pack_index > 0 && (size_t)r->pack_index < sub->count)
            return sub->others[(size_t)(r->pack_index - 1) * sub->stride];
    }
    return sub->text;
}

/* ---- declarators ---- */

/* Without the leading blank: a function's parameters follow the bracket directly, "void (*)(int)". */
static dm_string behind_bracket(dm_text inner)
{
    bool has_blank = inner.kind == DM_FUNCTION && inner.right.size && inner.right.data[0] == ' ';
    return (dm_string){inner.right.data + has_blank, inner.right.size - has_blank};
}

static dm_text wrap(dm_reader *r, dm_text inner, const char *mark)
{
    if (inner.kind == DM_FUNCTION || inner.kind == DM_ARRAY) {
        bool needs_blank = inner.kind == DM_ARRAY || (inner.right.size && inner.right.data[0] == ' ');
        inner.left = DM_CAT(r, inner.left, dm_lit(needs_blank ? " (" : "("), dm_lit(mark));
        inner.right = DM_CAT(r, dm_lit(")"), behind_bracket(inner));
        inner.kind = DM_WRAPPED;
        return inner;
    }
    inner.left = DM_CAT(r, inner.left, dm_lit(mark));
    return inner;
}

/* References to references collapse. */
static dm_text refer(dm_reader *r, dm_text inner, bool is_rvalue)
{
    if (dm_ends(inner.left, "&&")) {
        if (!is_rvalue) inner.left.size--;
        return inner;
    }
    if (dm_ends(inner.left, "&")) return inner;
    return wrap(r, inner, is_rvalue ? "&&" : "&");
}

static dm_text qualify(dm_reader *r, dm_text inner, const char *word)
{
    if (inner.kind == DM_FUNCTION)
        inner.right = DM_CAT(r, inner.right, dm_lit(word));
    else if (!dm_ends(inner.left, word))
        inner.left = DM_CAT(r, inner.left, dm_lit(word));
    return inner;
}

static dm_text function_type(dm_reader *r)
{
    dm_take(r, "Y");
    dm_text type = dm_type(r);
    dm_string params = dm_join(r, dm_types(r));
    const char *reference = dm_take(r, "R") ? " &" : dm_take(r, "O") ? " &&" : "";
    if (!dm_take(r, "E")) return dm_fail(r);
    bool needs_blank = type.kind != DM_WRAPPED;
    type.right = DM_CAT(r, dm_lit(needs_blank ? " (" : "("), params, dm_lit(")"), dm_lit(reference), type.right);
    type.kind = DM_FUNCTION;
    return type;
}

static dm_text array_type(dm_reader *r)
{
    dm_string size = dm_lit("");
    if (dm_is_digit(dm_peek(r, 0))) {
        const char *begin = r->at;
        dm_number(r);
        size = (dm_string){begin, (size_t)(r->at - begin)};
    } else if (dm_peek(r, 0) != '_') {
        dm_text text = dm_expression(r);
        size = dm_flat(r, &text);
    }
    if (!dm_take(r, "_")) return dm_fail(r);
    dm_text type = dm_type(r);
    dm_string rest = type.right;
    if (type.kind == DM_ARRAY && rest.size) rest.data++, rest.size--;
    type.right = DM_CAT(r, dm_lit(" ["), size, dm_lit("]"), rest);
    type.kind = DM_ARRAY;
    return type;
}

static dm_text member_pointer(dm_reader *r)
{
    dm_text class = dm_type(r), member = dm_type(r);
    dm_string name = dm_flat(r, &class);
    bool in_brackets = member.kind == DM_FUNCTION || member.kind == DM_ARRAY;
    member.left = DM_CAT(r, member.left, dm_lit(in_brackets ? " (" : " "), name, dm_lit("::*"));
    if (in_brackets) member.right = DM_CAT(r, dm_lit(")"), behind_bracket(member));
    if (in_brackets) member.kind = DM_WRAPPED;
    return member;
}

static dm_text vector_type(dm_reader *r)
{
    dm_string size;
    if (dm_take(r, "_")) {
        dm_text text = dm_expression(r);
        size = dm_flat(r, &text);
    } else {
        size = dm_decimal(r, dm_number(r));
    }
    if (!dm_take(r, "_")) return dm_fail(r);
    dm_text type = dm_type(r);
    type.left = DM_CAT(r, dm_flat(r, &type), dm_lit(" __vector("), size, dm_lit(")"));
    type.right = dm_lit("");
    return type;
}

/* ---- all types ---- */

static const char *builtin(char c)
{
    switch (c) {
    case 'v': return "void";
    case 'w': return "wchar_t";
    case 'b': return "bool";
    case 'c': return "char";
    case 'a': return "signed char";
    case 'h': return "unsigned char";
    case 's': return "short";
    case 't': return "unsigned short";
    case 'i': return "int";
    case 'j': return "unsigned int";
    case 'l': return "long";
    case 'm': return "unsigned long";
    case 'x': return "long long";
    case 'y': return "unsigned long long";
    case 'n': return "__int128";
    case 'o': return "unsigned __int128";
    case 'f': return "float";
    case 'd': return "double";
    case 'e': return "long double";
    case 'g': return "__float128";
    case 'z': return "...";
    default: return NULL;
    }
}

/* D and a letter. *is_builtin: it does not become a substitution. */
static dm_text d_type(dm_reader *r, bool *is_builtin)
{
    static const struct {
        char code[6];
        const char *text;
    } names[] = {
        {"Dd", "decimal64"},      {"De", "decimal128"},        {"Df", "decimal32"},   {"Dh", "half"},
        {"Ds", "char16_t"},       {"Di", "char32_t"},          {"Du", "char8_t"},     {"Da", "auto"},
        {"Dc", "decltype(auto)"}, {"Dn", "decltype(nullptr)"}, {"DF16_", "_Float16"}, {"DF16b", "std::bfloat16_t"},
        {"DF32_", "_Float32"},    {"DF64_", "_Float64"},
    };
    *is_builtin = false;
    if (dm_take(r, "Dt") || dm_take(r, "DT")) {
        dm_text text = dm_expression(r);
        if (!dm_take(r, "E")) return dm_fail(r);
        return dm_plain(DM_CAT(r, dm_lit("decltype ("), dm_flat(r, &text), dm_lit(")")));
    }
    if (dm_take(r, "Dv")) return vector_type(r);
    if (dm_take(r, "Do")) { /* noexcept functions */
        dm_text type = dm_type(r);
        return qualify(r, type, " noexcept");
    }
    *is_builtin = true;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (dm_take(r, names[i].code)) return dm_plain(dm_lit(names[i].text));
    }
    return dm_fail(r);
}

static dm_text qualified_type(dm_reader *r)
{
    bool is_restrict = dm_take(r, "r"), is_volatile = dm_take(r, "V"), is_const = dm_take(r, "K");
    dm_text type = dm_peek(r, 0) == 'F' ? (r->at++, function_type(r)) : dm_type(r);
    if (is_const) type = qualify(r, type, " const");
    if (is_volatile) type = qualify(r, type, " volatile");
    if (is_restrict) type = qualify(r, type, " __restrict");
    return type;
}

static dm_text vendor_qualified(dm_reader *r)
{
    dm_string name = dm_source_name(r);
    if (dm_peek(r, 0) == 'I') name = dm_template_args(r, name);
    dm_text type = dm_type(r);
    type.left = DM_CAT(r, type.left, dm_lit(" "), name);
    return type;
}

static dm_text suffixed(dm_reader *r, const char *suffix)
{
    dm_text type = dm_type(r);
    type.left = DM_CAT(r, dm_flat(r, &type), dm_lit(suffix));
    type.right = dm_lit("");
    return type;
}

/* T_, S_ and names, which may have template arguments. */
static dm_text class_type(dm_reader *r, bool *is_sub)
{
    char c = dm_peek(r, 0), d = dm_peek(r, 1);
    dm_text text;
    dm_traits traits;
    *is_sub = false;
    if (c == 'T' && d != 's' && d != 'u' && d != 'e') {
        dm_mark begin = dm_mark_here(r, 0);
        text = dm_template_param(r);
        if (dm_peek(r, 0) != 'I') return text;
        dm_add_sub(r, text, begin);
        return dm_with_args(r, text);
    }
    if (c == 'T') r->at += 2;
    if (c == 'S' && d != 't') {
        text = dm_substitution(r, false);
        if (dm_peek(r, 0) == 'I') return dm_with_args(r, text);
        *is_sub = true;
        return text;
    }
    return dm_name(r, &traits);
}

/* A reference to a T_ keeps its first reading in every scope, as in the C++ runtime, which profilers use for kernel
 * names. */
static dm_text reference(dm_reader *r)
{
    bool is_rvalue = *r->at++ == 'O', is_of_param = dm_peek(r, 0) == 'T';
    uint32_t before = r->params_read;
    dm_text type = dm_type(r);
    if (is_of_param && !r->in_lambda) r->params_read = before;
    return refer(r, type, is_rvalue);
}

dm_text dm_type(dm_reader *r)
{
    bool is_known = false; /* builtin, or a substitution already */
    dm_text type;
    if (!dm_enter(r)) return dm_fail(r);
    dm_mark begin = dm_mark_here(r, 0);
    bool keeps = r->keeps_params;
    r->keeps_params = false;
    char c = dm_peek(r, 0);
    switch (c) {
    case 'r':
    case 'V':
    case 'K': type = qualified_type(r); break;
    case 'P': r->at++, type = dm_type(r), type = wrap(r, type, "*"); break;
    case 'R':
    case 'O': type = reference(r); break;
    case 'F': r->at++, type = function_type(r); break;
    case 'A': r->at++, type = array_type(r); break;
    case 'M': r->at++, type = member_pointer(r); break;
    case 'C': r->at++, type = suffixed(r, " _Complex"); break;
    case 'G': r->at++, type = suffixed(r, " _Imaginary"); break;
    case 'U': r->at++, type = vendor_qualified(r); break;
    case 'D': type = d_type(r, &is_known); break;
    case 'u':
        r->at++, type = dm_plain(dm_source_name(r));
        if (dm_peek(r, 0) == 'I') type = dm_with_args(r, type);
        break;
    default:
        if (builtin(c)) {
            r->at++;
            type = dm_plain(dm_lit(builtin(c)));
            is_known = true;
        } else {
            type = class_type(r, &is_known);
        }
    }
    if (!is_known && !r->failed) dm_add_sub(r, type, begin);
    r->keeps_params = keeps;
    r->depth--;
    return type;
}
