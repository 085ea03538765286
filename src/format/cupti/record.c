/* record.c - the state of a record while it is read, and counts */
#include "base/error.h"
#include "format/cupti/cupti.h"

void cupti_record_begin(cupti_parser *p, const char *text, size_t size)
{
    cupti_record *r = &p->record;
    static const hd_string none = {"", 0};
    r->type = r->name = none;
    for (int i = CUPTI_COPY_KIND; i <= CUPTI_OBJECT_KIND; i++) r->texts[i] = none;
    for (int i = 0; i < CUPTI_FIELDS; i++) r->numbers[i] = HD_NO_NUMBER;
    r->item_count = 0;
    r->overflow = r->has_name = r->has_type = false;
    r->text = text;
    r->size = size < UINT32_MAX ? (uint32_t)size : UINT32_MAX;
    r->offset = p->offset + (uint64_t)(text - p->text);
}

void cupti_record_add(cupti_parser *p, uint32_t key, hd_arg_type type, int64_t bits)
{
    cupti_record *r = &p->record;
    if (r->item_count == CUPTI_ITEM_LIMIT)
        r->overflow = true;
    else
        r->items[r->item_count++] = (cupti_item){.key = key, .type = (uint8_t)type, .bits = bits};
}

bool cupti_record_set(cupti_parser *p, cupti_field field, uint32_t key, hd_arg_type type, int64_t bits, hd_string text)
{
    cupti_record *r = &p->record;
    switch (field) {
    case CUPTI_TYPE:
        r->type = text;
        r->has_type = type == HD_ARG_STRING;
        return true;
    case CUPTI_NAME:
        r->name = text;
        r->has_name = type == HD_ARG_STRING;
        if (!r->has_name) cupti_record_add(p, p->arguments[field], type, bits);
        return true;
    case CUPTI_START:
    case CUPTI_END:
    case CUPTI_DURATION:
    case CUPTI_TIMESTAMP:
        if (type != HD_ARG_INT || bits < 0) return false;
        r->numbers[field] = bits;
        return true;
    case CUPTI_PROCESS:
    case CUPTI_THREAD: /* arguments only where they name no track */
        r->numbers[field] = type == HD_ARG_INT ? bits : HD_NO_NUMBER;
        if (type != HD_ARG_INT) cupti_record_add(p, p->arguments[field], type, bits);
        return true;
    default: break;
    }
    if (type == HD_ARG_INT) r->numbers[field] = bits;
    if (type == HD_ARG_STRING) r->texts[field] = text;
    cupti_record_add(p, field == CUPTI_OTHER ? key : p->arguments[field], type, bits);
    return true;
}

bool cupti_note(cupti_parser *p, const char *code, hd_ledger_level level, const char *at)
{
    uint64_t offset = p->offset + (uint64_t)(at - p->text);
    if (p->is_strict && level != HD_LEDGER_NOTE) {
        hd_error_set(&p->error, HD_ERR_DAMAGED, NULL, offset, "%s, and --strict refuses repairs", code);
        return false;
    }
    size_t i = 0;
    while (i < p->issue_count && strcmp(p->issues[i].code, code) != 0) i++;
    if (i == CUPTI_ISSUES) return true;
    if (i == p->issue_count)
        p->issues[p->issue_count++] = (cupti_issue){.code = code, .level = level, .offset = offset, .line = p->lines};
    p->issues[i].count++;
    return true;
}
