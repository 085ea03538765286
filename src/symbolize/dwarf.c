/* dwarf.c - functions inlined at addresses, and lines of sources
 *
 * One pass over the ranges of all units finds those with requested addresses; only these are walked, and in them only
 * functions with such addresses. Time is bounded by a budget, since DWARF may be hostile: when it is used up, the
 * remaining addresses have the names of the symbol table.
 */
#include <dwarf.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory/vector.h"
#include "base/sorted.h"
#include "symbolize/elf.h"

enum { DEPTH_LIMIT = 200 };
static const uint64_t BUDGET = UINT64_C(1) << 29; /* steps of some 50 ns */

typedef struct unit {
    Dwarf_Off die;
    uint32_t count, first; /* of its requests, in picked */
} unit;

typedef struct walker {
    sym_places *out;
    sym_module *module;
    const hd_symbolize_options *options;
    Dwarf *dwarf;
    uint64_t budget;
    hd_memo names; /* mangled -> text */
    unit *units;
    size_t unit_count, unit_capacity;
    uint32_t *unit_of; /* by request, HD_NONE: no unit has it */
    uint32_t *picked;  /* requests by unit */
    uint32_t *owner;   /* by request: the function it is in, from 1 */
    uint32_t owners;
    const uint32_t *mine; /* requests of the unit that is walked, by address */
    uint32_t mine_count;
    Dwarf_Files *files;
    size_t file_count;
    const char *folder; /* that paths of the unit are relative to, NULL: unknown */
    bool failed;        /* no memory */
} walker;

static bool spend(walker *w)
{
    if (w->budget) w->budget--;
    return w->budget > 0 && !w->failed;
}

/* ---- which units ---- */

static uint32_t first_from(const walker *w, uint64_t address)
{
    size_t low = 0, high = w->module->request_count;
    HD_PARTITION_POINT(low, high, at, w->module->requests[at].address < address);
    return (uint32_t)low;
}

static void claim_for_unit(walker *w, Dwarf_Die *die)
{
    Dwarf_Addr base, low, high;
    uint32_t index = (uint32_t)w->unit_count, claimed = 0;
    for (ptrdiff_t at = 0; (at = dwarf_ranges(die, at, &base, &low, &high)) > 0 && spend(w);) {
        if (low >= high) continue;
        for (uint32_t i = first_from(w, low); i < w->module->request_count && spend(w); i++) {
            if (w->module->requests[i].address >= high) break;
            claimed += w->unit_of[i] == HD_NONE;
            if (w->unit_of[i] == HD_NONE) w->unit_of[i] = index;
        }
    }
    if (!claimed) return;
    if (index == HD_NONE - 1 || !hd_grow((void **)&w->units, &w->unit_capacity, w->unit_count, sizeof *w->units)) {
        w->failed = true;
        return;
    }
    w->units[w->unit_count++] = (unit){.die = dwarf_dieoffset(die), .count = claimed};
}

static void find_units(walker *w)
{
    Dwarf_CU *cu = NULL, *next;
    Dwarf_Die die;
    uint8_t type;
    while (spend(w) && dwarf_get_units(w->dwarf, cu, &next, NULL, &type, &die, NULL) == 0) {
        cu = next;
        if (type == DW_UT_compile || type == DW_UT_skeleton || type == DW_UT_partial) claim_for_unit(w, &die);
    }
}

static void sort_by_unit(walker *w)
{
    uint32_t at = 0;
    for (size_t u = 0; u < w->unit_count; u++) {
        w->units[u].first = at;
        at += w->units[u].count;
        w->units[u].count = 0;
    }
    for (uint32_t i = 0; i < w->module->request_count; i++) {
        if (w->unit_of[i] == HD_NONE || w->unit_of[i] >= w->unit_count) continue;
        unit *u = &w->units[w->unit_of[i]];
        w->picked[u->first + u->count++] = i;
    }
}

/* ---- names ---- */

static uint32_t text_of(walker *w, const char *name)
{
    uint64_t hash;
    size_t size = strlen(name);
    const hd_memo_value *known = hd_memo_find(&hash, &w->names, name, size);
    if (known) return known->a;
    uint32_t text = sym_answers_text(&w->module->answers, name, size);
    w->failed |= text == HD_STRING_NONE;
    hd_memo_add(&w->names, hash, name, size, (hd_memo_value){.a = text});
    return text;
}

static uint32_t name_of(walker *w, Dwarf_Die *die)
{
    static const unsigned keys[] = {DW_AT_linkage_name, DW_AT_MIPS_linkage_name, DW_AT_name};
    Dwarf_Attribute attribute;
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        const char *name = dwarf_formstring(dwarf_attr_integrate(die, keys[i], &attribute));
        if (name && *name) return text_of(w, name);
    }
    return HD_STRING_NONE;
}

static uint32_t file_text(walker *w, const char *path)
{
    char whole[PATH_MAX];
    const char *slash = path && !w->options->paths ? strrchr(path, '/') : NULL;
    if (slash && slash[1]) path = slash + 1;
    if (!path || !*path) return HD_STRING_NONE;
    if (w->options->paths && path[0] != '/' && w->folder) {
        int size = snprintf(whole, sizeof whole, "%s/%s", w->folder, path);
        if (size > 0 && (size_t)size < sizeof whole) path = whole;
    }
    uint32_t text = sym_answers_plain(&w->module->answers, path, strlen(path));
    w->failed |= text == HD_STRING_NONE;
    return text;
}

static uint64_t number_of(Dwarf_Die *die, unsigned key)
{
    Dwarf_Attribute attribute;
    Dwarf_Word value;
    return dwarf_formudata(dwarf_attr(die, key, &attribute), &value) == 0 ? value : 0;
}

/* ---- scopes ---- */

static uint32_t add_scope(walker *w, Dwarf_Die *die, uint32_t outer, uint32_t depth)
{
    sym_scope scope = {.outer = outer, .depth = depth, .call_file = HD_STRING_NONE};
    if (w->out->scope_count >= HD_NONE - 1 ||
        !hd_grow((void **)&w->out->scopes, &w->out->scope_capacity, w->out->scope_count, sizeof scope)) {
        w->failed = true;
        return HD_NONE;
    }
    scope.name = name_of(w, die);
    if (outer != HD_NONE && w->options->lines) {
        uint64_t line = number_of(die, DW_AT_call_line), file = number_of(die, DW_AT_call_file);
        scope.call_line = line < UINT32_MAX ? (uint32_t)line : 0;
        if (w->files && file < w->file_count) scope.call_file = file_text(w, dwarf_filesrc(w->files, file, NULL, NULL));
    }
    w->out->scopes[w->out->scope_count] = scope;
    return (uint32_t)w->out->scope_count++;
}

static uint32_t mine_from(const walker *w, uint64_t address)
{
    size_t low = 0, high = w->mine_count;
    HD_PARTITION_POINT(low, high, at, w->module->requests[w->mine[at]].address < address);
    return (uint32_t)low;
}

/* Requests within the ranges of a function or an inlined function get it as their innermost scope. A function takes
 * requests without a scope (owner 0), an inlined function those of its parent that no sibling has. */
static bool enter(walker *w, Dwarf_Die *die, uint32_t owner, uint32_t depth)
{
    Dwarf_Addr base, low, high;
    uint32_t made = HD_NONE, outer_of_made = HD_NONE;
    bool any = false;
    for (ptrdiff_t at = 0; (at = dwarf_ranges(die, at, &base, &low, &high)) > 0 && spend(w);) {
        for (uint32_t i = mine_from(w, low); low < high && i < w->mine_count && spend(w); i++) {
            uint32_t request = w->mine[i];
            sym_place *place = &w->out->list[request];
            if (w->module->requests[request].address >= high) break;
            if (w->owner[request] != owner || (owner && w->out->scopes[place->scope].depth >= depth)) continue;
            if (made == HD_NONE || outer_of_made != place->scope) {
                made = add_scope(w, die, owner ? place->scope : HD_NONE, depth);
                if (made == HD_NONE) return false;
                outer_of_made = place->scope;
            }
            place->scope = made;
            if (!owner) w->owner[request] = w->owners + 1;
            any = true;
        }
    }
    if (any && !owner) w->owners++;
    return any;
}

/* Whether a block has requests of the function, or no ranges of its own. */
static bool may_hold(walker *w, Dwarf_Die *die, uint32_t owner)
{
    Dwarf_Addr base, low, high;
    bool has_ranges = false;
    for (ptrdiff_t at = 0; (at = dwarf_ranges(die, at, &base, &low, &high)) > 0 && spend(w); has_ranges = true) {
        for (uint32_t i = mine_from(w, low); low < high && i < w->mine_count && spend(w); i++) {
            if (w->module->requests[w->mine[i]].address >= high) break;
            if (w->owner[w->mine[i]] == owner) return true;
        }
    }
    return !has_ranges;
}

/* ---- units ---- */

/* owner: the function that `parent` is in, 0: none. */
static void walk(walker *w, Dwarf_Die *parent, uint32_t owner, uint32_t depth)
{
    Dwarf_Die die;
    if (depth >= DEPTH_LIMIT || dwarf_child(parent, &die) != 0) return;
    do {
        if (!spend(w)) return;
        switch (dwarf_tag(&die)) {
        case DW_TAG_subprogram:
            if (enter(w, &die, 0, depth) && !w->options->no_inline) walk(w, &die, w->owners, depth + 1);
            break;
        case DW_TAG_inlined_subroutine:
            if (owner && enter(w, &die, owner, depth)) walk(w, &die, owner, depth + 1);
            break;
        case DW_TAG_lexical_block:
        case DW_TAG_try_block:
        case DW_TAG_catch_block:
            if (owner && may_hold(w, &die, owner)) walk(w, &die, owner, depth + 1);
            break;
        case DW_TAG_namespace:
        case DW_TAG_module: walk(w, &die, 0, depth + 1); break;
        default: break;
        }
    } while (dwarf_siblingof(&die, &die) == 0);
}

static void find_lines(walker *w, Dwarf_Die *die)
{
    const char *last_path = NULL;
    uint32_t last_text = HD_STRING_NONE;
    int number;
    for (uint32_t i = 0; i < w->mine_count && spend(w); i++) {
        sym_place *place = &w->out->list[w->mine[i]];
        Dwarf_Line *line = dwarf_getsrc_die(die, w->module->requests[w->mine[i]].address);
        const char *path = line ? dwarf_linesrc(line, NULL, NULL) : NULL;
        if (!path || dwarf_lineno(line, &number) != 0 || number <= 0) continue;
        if (path != last_path) last_text = file_text(w, last_path = path);
        place->file = last_text;
        place->line = (uint32_t)number;
    }
}

/* A skeleton's functions are in a file of their own, which libdw would open by a name that the skeleton says. */
static void walk_unit(walker *w, const unit *u)
{
    Dwarf_Die die;
    Dwarf_Attribute folder;
    if (!dwarf_offdie(w->dwarf, u->die, &die)) return;
    w->mine = w->picked + u->first;
    w->mine_count = u->count;
    w->files = NULL;
    w->folder = dwarf_formstring(dwarf_attr(&die, DW_AT_comp_dir, &folder));
    if (w->options->lines && dwarf_getsrcfiles(&die, &w->files, &w->file_count) != 0) w->files = NULL;
    if (w->options->lines) find_lines(w, &die);
    if (!dwarf_hasattr(&die, DW_AT_dwo_name) && !dwarf_hasattr(&die, DW_AT_GNU_dwo_name)) walk(w, &die, 0, 0);
}

/* ---- all ---- */

static void find_all(walker *w)
{
    size_t count = w->module->request_count;
    w->unit_of = malloc((count + 1) * sizeof *w->unit_of);
    w->picked = malloc((count + 1) * sizeof *w->picked);
    w->owner = calloc(count + 1, sizeof *w->owner);
    w->failed = !w->unit_of || !w->picked || !w->owner;
    if (w->failed) return;
    memset(w->unit_of, 0xff, count * sizeof *w->unit_of);
    find_units(w);
    sort_by_unit(w);
    for (size_t i = 0; i < w->unit_count && !w->failed; i++) walk_unit(w, &w->units[i]);
}

bool sym_places_find(sym_places *out, sym_module *module, Elf *elf, const char *path,
                     const hd_symbolize_options *options)
{
    walker w = {.out = out, .module = module, .options = options, .budget = BUDGET};
    sym_file alternate_file = {0};
    Dwarf *alternate = NULL;
    *out = (sym_places){.list = malloc((module->request_count + 1) * sizeof *out->list)};
    if (!out->list) return false;
    for (size_t i = 0; i < module->request_count; i++)
        out->list[i] = (sym_place){.scope = HD_NONE, .file = HD_STRING_NONE};
    w.dwarf = sym_file_dwarf(elf);
    if (w.dwarf && sym_alternate_find(&alternate_file, &alternate, w.dwarf, path, options)) {
        if (alternate) dwarf_setalt(w.dwarf, alternate);
        find_all(&w);
    } else if (w.dwarf) {
        snprintf(module->why, sizeof module->why, "its debug information needs a file of dwz that is not here");
    }
    if (w.dwarf) dwarf_end(w.dwarf);
    if (alternate) dwarf_end(alternate);
    sym_file_close(&alternate_file);
    hd_memo_deinit(&w.names);
    free(w.units);
    free(w.unit_of);
    free(w.picked);
    free(w.owner);
    return !w.failed;
}

void sym_places_deinit(sym_places *places)
{
    free(places->list);
    free(places->scopes);
    *places = (sym_places){0};
}
