/* common.c - how much of the two sides is the same program: by names, and by structure */
#include <string.h>

#include "heddle/names.h"
#include "report/diff/diff.h"

typedef struct sides {
    const diff_aligned *aligned;
    const hd_diff_side *side[2];
} sides;

static bool is_counted(const sides *s, int h, uint32_t item)
{
    uint32_t kind = diff_key(s->side[h], item)->kind;
    return kind == (s->side[h]->has_host ? DIFF_OPERATOR : DIFF_KERNEL);
}

static bool have_one_text(const sides *s, uint32_t before, uint32_t after)
{
    bool both = before != HD_NONE && after != HD_NONE;
    return both && s->aligned->text_of[0][before] == s->aligned->text_of[1][after];
}

/* Of two items that are counted. */
static bool are_named_alike(const sides *s, uint32_t before, uint32_t after)
{
    char out[2][HD_NAME_BYTES];
    const diff_item_key *x = diff_key(s->side[0], before), *y = diff_key(s->side[1], after);
    if (x->node != HD_NONE && y->node != HD_NONE &&
        have_one_text(s, diff_node(s->side[0], x->node)->name, diff_node(s->side[1], y->node)->name))
        return true;
    if (x->name == HD_NONE || y->name == HD_NONE || have_one_text(s, x->name, y->name))
        return x->name != HD_NONE && y->name != HD_NONE;
    size_t size = hd_name_short(out[0], gpu_text_of(&s->side[0]->texts, x->name));
    return size && size == hd_name_short(out[1], gpu_text_of(&s->side[1]->texts, y->name)) &&
           memcmp(out[0], out[1], size) == 0;
}

diff_common diff_common_of(const diff_aligned *aligned, const diff_units *units)
{
    const sides s = {aligned, {units->half[0].side, units->half[1].side}};
    diff_common c = {{0, 0}, {0, 0}, {0, 0}};
    for (size_t i = 0; i < aligned->count; i++) {
        const diff_pair *p = &aligned->pairs[i];
        bool paired = p->item[0] != HD_NONE && p->item[1] != HD_NONE;
        bool named = paired && is_counted(&s, 0, p->item[0]) && is_counted(&s, 1, p->item[1]) &&
                     are_named_alike(&s, p->item[0], p->item[1]);
        for (int k = 0; k < 4; k++) {
            int h = k >= 2;
            uint32_t item = k % 2 ? p->more[h] : p->item[h];
            if (item == HD_NONE || !is_counted(&s, h, item)) continue;
            double time = aligned->time[h][item];
            c.all[h] += time;
            if (paired) c.paired[h] += time;
            if (named) c.named[h] += time;
        }
    }
    return c;
}
