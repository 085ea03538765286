/* name.c - encodings, names and template arguments of the Itanium C++ ABI, 5.1 */
#include "base/demangle/impl.h"

/* ---- components ---- */

dm_string dm_source_name(dm_reader *r)
{
    uint64_t size = dm_number(r);
    if (r->failed || size == 0 || size > (uint64_t)(r->end - r->at)) {
        r->failed = true;
        return dm_lit("");
    }
    dm_string s = {r->at, (size_t)size};
    r->at += size;
    if (size >= 10 && memcmp(s.data, "_GLOBAL_", 8) == 0 && strchr("._$", s.data[8]) && s.data[9] == 'N')
        return dm_lit("(anonymous namespace)");
    return s;
}

static dm_text lambda(dm_reader *r)
{
    bool outer = r->in_lambda;
    uint32_t outer_read = r->params_read;
    r->in_lambda = true;
    dm_arg *params = dm_types(r);
    r->in_lambda = outer;
    r->params_read = outer_read;
    if (!dm_take(r, "E")) return dm_fail(r);
    dm_string number = dm_decimal(r, dm_index(r) + 1);
    return dm_plain(DM_CAT(r, dm_lit("{lambda("), dm_join(r, params), dm_lit(")#"), number, dm_lit("}")));
}

static dm_text operator_name(dm_reader *r, dm_traits *traits)
{
    if (dm_take(r, "cv")) {
        traits->has_no_return = true;
        bool outer = r->keeps_params;
        r->keeps_params = false;
        dm_text type = dm_type(r);
        r->keeps_params = outer;
        return dm_plain(DM_CAT(r, dm_lit("operator "), dm_flat(r, &type)));
    }
    if (dm_take(r, "li")) return dm_plain(DM_CAT(r, dm_lit("operator\"\" "), dm_source_name(r)));
    const dm_operator *op = dm_find_operator(r);
    if (!op || op->arity > 3) return dm_fail(r);
    r->at += 2;
    bool is_word = op->text[0] >= 'a' && op->text[0] <= 'z';
    dm_string text = dm_lit(op->text);
    while (is_word && text.size && text.data[text.size - 1] == ' ') text.size--;
    return dm_plain(DM_CAT(r, dm_lit(is_word ? "operator " : "operator"), text));
}

static dm_text plain_component(dm_reader *r, dm_string base, dm_traits *traits)
{
    char c = dm_peek(r, 0), d = dm_peek(r, 1);
    if (dm_is_digit(c)) return dm_plain(dm_source_name(r));
    if (c == 'L') { /* internal linkage */
        r->at++;
        dm_text text = dm_plain(dm_source_name(r));
        return text;
    }
    if ((c == 'C' && d >= '1' && d <= '5') || (c == 'D' && d >= '0' && d <= '5')) {
        r->at += 2;
        traits->has_no_return = true;
        if (base.size == 0) return dm_fail(r);
        dm_text text = dm_plain(c == 'D' ? DM_CAT(r, dm_lit("~"), base) : base);
        text.base = base;
        return text;
    }
    if (dm_take(r, "Ul")) return lambda(r);
    if (dm_take(r, "Ut"))
        return dm_plain(DM_CAT(r, dm_lit("{unnamed type#"), dm_decimal(r, dm_index(r) + 1), dm_lit("}")));
    if (c >= 'a' && c <= 'z') return operator_name(r, traits);
    return dm_fail(r);
}

dm_text dm_unqualified(dm_reader *r, dm_string base, dm_traits *traits)
{
    traits->has_template_args = traits->has_no_return = false;
    dm_text text = plain_component(r, base, traits);
    while (!r->failed && dm_take(r, "B")) {
        dm_string tag = dm_source_name(r);
        text.left = DM_CAT(r, text.left, dm_lit("[abi:"), tag, dm_lit("]"));
    }
    return text;
}

/* ---- template arguments ---- */

static dm_text read_x(dm_reader *r)
{
    dm_text text = dm_expression(r);
    if (!dm_take(r, "E")) r->failed = true;
    return text;
}

/* One argument, several of a pack (J…E), or those of an expansion. */
static void template_arg(dm_reader *r, dm_arg ***tail, bool *out_pack)
{
    *out_pack = false;
    if (!dm_enter(r)) return;
    char c = dm_peek(r, 0);
    if (c == 'J' || (c == 'I')) {
        r->at++;
        *out_pack = true;
        bool inner;
        while (!r->failed && !dm_take(r, "E")) template_arg(r, tail, &inner);
    } else if (dm_take(r, "X")) {
        dm_push(r, tail, read_x(r));
    } else if (c == 'L') {
        dm_push(r, tail, dm_literal(r));
    } else {
        dm_type_item(r, tail);
    }
    r->depth--;
}

dm_string dm_template_args(dm_reader *r, dm_string before)
{
    dm_arg *args = NULL, **tail = &args;
    dm_param *params = NULL, **params_tail = &params;
    bool keeps = r->keeps_params;
    r->keeps_params = false;
    if (!dm_take(r, "I") || !dm_enter(r)) return dm_fail(r).left;
    while (!r->failed && !dm_take(r, "E")) {
        dm_param *param = dm_new(r, sizeof *param);
        if (!param) break;
        *param = (dm_param){0};
        dm_arg **first = tail;
        template_arg(r, &tail, &param->is_pack);
        param->args = *first;
        for (dm_arg *a = *first; a; a = a->next) param->count++;
        *params_tail = param;
        params_tail = &param->next;
    }
    r->depth--;
    r->keeps_params = keeps;
    if (keeps) r->params = params;
    dm_string list = dm_join(r, args);
    return DM_CAT(r, before, dm_lit(dm_ends(before, "<") ? " <" : "<"), list, dm_lit(dm_ends(list, ">") ? " >" : ">"));
}

dm_text dm_with_args(dm_reader *r, dm_text text)
{
    text.left = dm_template_args(r, text.left);
    return text;
}

/* ---- names ---- */

static dm_string nested_qualifiers(dm_reader *r)
{
    bool is_restrict = dm_take(r, "r"), is_volatile = dm_take(r, "V"), is_const = dm_take(r, "K");
    const char *reference = dm_take(r, "R") ? " &" : dm_take(r, "O") ? " &&" : "";
    if (!is_restrict && !is_volatile && !is_const && !*reference) return dm_lit("");
    return DM_CAT(r, dm_lit(is_const ? " const" : ""), dm_lit(is_volatile ? " volatile" : ""),
                  dm_lit(is_restrict ? " __restrict" : ""), dm_lit(reference));
}

/* Appends a component of a nested name to `text`; *is_sub: the result is already a substitution. */
static dm_text nested_component(dm_reader *r, dm_text text, dm_traits *traits, bool *is_sub)
{
    char c = dm_peek(r, 0), d = dm_peek(r, 1);
    bool is_first = text.left.size == 0;
    *is_sub = false;
    if (c == 'I' && !is_first) {
        text = dm_with_args(r, text);
        traits->has_template_args = true;
        return text;
    }
    if (c == 'S' && d == 't' && is_first) {
        r->at += 2;
        *is_sub = true;
        return dm_plain(dm_lit("std"));
    }
    if (c == 'S' && is_first) {
        *is_sub = true;
        return dm_substitution(r, true);
    }
    if (c == 'T' && is_first) return dm_template_param(r);
    if (c == 'D' && (d == 't' || d == 'T') && is_first) {
        dm_text type = dm_type(r);
        *is_sub = true;
        return type;
    }
    dm_text last = dm_unqualified(r, text.base, traits);
    if (!is_first) last.left = DM_CAT(r, dm_flat(r, &text), dm_lit("::"), last.left);
    return last;
}

static dm_text nested_name(dm_reader *r, dm_traits *traits)
{
    dm_text text = dm_plain(dm_lit(""));
    dm_mark begin = dm_mark_here(r, 1);
    traits->qualifiers = nested_qualifiers(r);
    if (!dm_enter(r)) return text;
    while (!r->failed && !dm_take(r, "E") && !(r->rereads && r->at == r->end)) {
        bool is_sub;
        text = nested_component(r, text, traits, &is_sub);
        dm_take(r, "M"); /* the data member whose initializer contains the lambda */
        if (dm_peek(r, 0) != 'E' && !is_sub && !r->failed) dm_add_sub(r, text, begin);
    }
    r->depth--;
    if (text.left.size == 0) r->failed = true;
    return text;
}

/* Z <encoding> E <name>, "f(int)::x". Return types of the outer function are left out. */
static dm_text local_name(dm_reader *r, dm_traits *traits)
{
    if (!dm_enter(r)) return dm_fail(r);
    dm_text function = dm_encoding(r, false);
    if (!dm_take(r, "E")) return dm_fail(r);
    dm_string outer = DM_CAT(r, function.left, function.right, dm_lit("::"));
    dm_text last;
    if (dm_take(r, "s")) {
        last = dm_plain(dm_lit("string literal"));
    } else {
        if (dm_take(r, "d")) {
            dm_string number = dm_decimal(r, dm_index(r) + 1);
            outer = DM_CAT(r, outer, dm_lit("{default arg#"), number, dm_lit("}::"));
        }
        last = dm_name(r, traits);
    }
    if (dm_take(r, "__")) { /* index among entities of this name */
        dm_number(r);
        dm_take(r, "_");
    } else if (dm_peek(r, 0) == '_' && dm_is_digit(dm_peek(r, 1))) {
        r->at += 2;
    }
    r->depth--;
    last.left = DM_CAT(r, outer, last.left);
    return last;
}

dm_text dm_name(dm_reader *r, dm_traits *traits)
{
    char c = dm_peek(r, 0), d = dm_peek(r, 1);
    bool is_sub = false;
    dm_text text;
    dm_mark begin = dm_mark_here(r, 0);
    *traits = (dm_traits){.qualifiers = {"", 0}};
    if (dm_take(r, "N")) return nested_name(r, traits);
    if (dm_take(r, "Z")) return local_name(r, traits);
    if (c == 'S' && d == 't') {
        r->at += 2;
        text = dm_unqualified(r, dm_lit(""), traits);
        text.left = DM_CAT(r, dm_lit("std::"), text.left);
    } else if (c == 'S') {
        text = dm_substitution(r, false);
        is_sub = true;
    } else {
        text = dm_unqualified(r, dm_lit(""), traits);
    }
    if (dm_peek(r, 0) == 'I' && !r->failed) {
        if (!is_sub) dm_add_sub(r, text, begin);
        text = dm_with_args(r, text);
        traits->has_template_args = true;
    }
    return text;
}

/* ---- encodings ---- */

static void call_offset(dm_reader *r)
{
    bool is_virtual = dm_peek(r, 0) == 'v';
    if (!dm_take(r, "h") && !dm_take(r, "v")) r->failed = true;
    for (int i = 0; i < (is_virtual ? 2 : 1); i++) {
        dm_take(r, "n");
        dm_number(r);
        if (!dm_take(r, "_")) r->failed = true;
    }
}

/* The vtable of a base while the object around it is constructed. */
static dm_string base_in(dm_reader *r, dm_string object)
{
    dm_number(r);
    if (!dm_take(r, "_")) r->failed = true;
    dm_text base = dm_type(r);
    return DM_CAT(r, dm_flat(r, &base), dm_lit("-in-"), object);
}

/* vtables, guards, thunks */
static dm_text special_name(dm_reader *r)
{
    static const struct {
        char code[4];
        char what; /* follows: type, name, encoding, or offset and encoding; 'b': type, number, base */
        const char *text;
    } kinds[] = {
        {"TV", 't', "vtable for "},
        {"TT", 't', "VTT for "},
        {"TC", 'b', "construction vtable for "},
        {"TI", 't', "typeinfo for "},
        {"TS", 't', "typeinfo name for "},
        {"GV", 'n', "guard variable for "},
        {"TH", 'n', "TLS init function for "},
        {"TW", 'n', "TLS wrapper function for "},
        {"GA", 'e', "hidden alias for "},
        {"GTt", 'e', "transaction clone for "},
        {"GTn", 'e', "non-transaction clone for "},
        {"Th", 'h', "non-virtual thunk to "},
        {"Tv", 'h', "virtual thunk to "},
        {"Tc", 'c', "covariant return thunk to "},
    };
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (!dm_take(r, kinds[i].code)) continue;
        dm_text text;
        dm_traits traits;
        if (kinds[i].what == 'h') r->at--; /* the letter is the first of the offset */
        if (kinds[i].what == 'h' || kinds[i].what == 'c') call_offset(r);
        if (kinds[i].what == 'c') call_offset(r);
        text = strchr("tb", kinds[i].what) ? dm_type(r)
               : kinds[i].what == 'n'      ? dm_name(r, &traits)
                                           : dm_encoding(r, true);
        dm_string object = dm_flat(r, &text);
        if (kinds[i].what == 'b') object = base_in(r, object);
        text.left = DM_CAT(r, dm_lit(kinds[i].text), object);
        text.right = dm_lit("");
        return text;
    }
    return dm_fail(r);
}

static bool at_end(const dm_reader *r)
{
    return r->at == r->end || *r->at == 'E' || *r->at == '.';
}

dm_text dm_encoding(dm_reader *r, bool is_outer)
{
    char c = dm_peek(r, 0), d = dm_peek(r, 1);
    dm_traits traits;
    if (!dm_enter(r)) return dm_fail(r);
    bool outer_keeps = r->keeps_params, outer_lambda = r->in_lambda;
    uint32_t outer_read = r->params_read;
    r->keeps_params = true;
    r->in_lambda = false;
    bool is_special = (c == 'T' && d != '\0' && strchr("VTCISHWhvc", d)) || (c == 'G' && d != '\0' && strchr("VAT", d));
    dm_text text = is_special ? special_name(r) : dm_name(r, &traits);
    r->keeps_params = false;
    if (!r->failed && !is_special && !at_end(r)) {
        dm_text result = dm_plain(dm_lit(""));
        bool has_result = traits.has_template_args && !traits.has_no_return;
        if (has_result) result = dm_type(r);
        if (at_end(r)) r->failed = true;
        dm_string params = dm_join(r, dm_types(r));
        if (!is_outer) result.left = result.right = dm_lit("");
        bool needs_blank = result.left.size && result.kind != DM_WRAPPED;
        dm_string name = text.left;
        text.left = DM_CAT(r, result.left, dm_lit(needs_blank ? " " : ""), name, dm_lit("("), params, dm_lit(")"),
                           traits.qualifiers);
        text.right = result.right;
        text.name = name;
        text.is_simple = false;
    }
    r->keeps_params = outer_keeps;
    r->in_lambda = outer_lambda;
    r->params_read = outer_read; /* those T_s belong to the inner name */
    r->depth--;
    return text;
}
