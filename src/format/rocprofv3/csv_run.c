/* csv_run.c - the CSVs of a run: PID_kernel_trace.csv and those next to it
 *
 * The columns identify a table. The tables of one process begin with the same name, and are read in name order, so that
 * PID_agent_info.csv comes first.
 */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/io/csv.h"
#include "base/text/ends.h"
#include "format/rocprofv3/rocprofv3.h"

typedef struct csv_table {
    rocprof_run *run;
    hd_csv csv;
    rocprof_domain domain;
    size_t column_count;
    rocprof_field fields[HD_CSV_FIELD_LIMIT];
    uint32_t keys[HD_CSV_FIELD_LIMIT];
    uint64_t short_rows, short_offset, bad_numbers, bad_offset;
} csv_table;

static bool field_is(const hd_csv_field *field, const char *text)
{
    return hd_json_span_is((hd_json_span){field->data, field->size}, text);
}

static int column_of(const csv_table *t, const char *name)
{
    for (size_t i = 0; i < t->csv.count; i++)
        if (field_is(&t->csv.fields[i], name)) return (int)i;
    return -1;
}

/* ---- what a table is ---- */

/* Columns that only tables of that kind have; the first that fits. */
static const struct table_sort {
    const char *columns[2];
    rocprof_domain domain;
    const char *list;
} table_sorts[] = {
    {{"Counter_Name", "Counter_Value"}, ROCPROF_COUNTERS, "counter_collection"},
    {{"Kernel_Name", "Start_Timestamp"}, ROCPROF_KERNELS, "kernel_dispatch"},
    {{"Direction", "Start_Timestamp"}, ROCPROF_COPIES, "memory_copy"},
    {{"Allocation_Size", "Start_Timestamp"}, ROCPROF_ALLOCATIONS, "memory_allocation"},
    {{"Alloc_Flags", "Start_Timestamp"}, ROCPROF_SCRATCH, "scratch_memory"},
    {{"Function", "Start_Timestamp"}, ROCPROF_CALLS, "api"},
    {{"Sample_Timestamp", "Exec_Mask"}, ROCPROF_OTHERS, "pc_sample"},
    {{"Node_Id", "Agent_Type"}, ROCPROF_AGENTS, "agents"},
};
enum { SORTS = sizeof table_sorts / sizeof *table_sorts };

bool rocprof_is_csv(const unsigned char *head, size_t size)
{
    const unsigned char *end = memchr(head, '\n', size);
    size_t line = end ? (size_t)(end - head) : size;
    bool has_comma = memchr(head, ',', line) != NULL;
    for (size_t i = 0; has_comma && i < SORTS; i++) {
        const char *const *columns = table_sorts[i].columns;
        if (memmem(head, line, columns[0], strlen(columns[0])) && memmem(head, line, columns[1], strlen(columns[1])))
            return true;
    }
    return false;
}

static hd_status read_header(csv_table *t, hd_error *err)
{
    const char *argument;
    hd_status status = hd_csv_next(&t->csv, err);
    if (status == HD_END) return hd_error_set(err, HD_ERR_FORMAT, NULL, 0, "a table without its names of columns");
    HD_TRY(status);
    size_t sort = 0;
    while (sort < SORTS &&
           (column_of(t, table_sorts[sort].columns[0]) < 0 || column_of(t, table_sorts[sort].columns[1]) < 0))
        sort++;
    if (sort == SORTS)
        return hd_error_set(err, HD_ERR_FORMAT, NULL, 0, "its columns are those of no table that rocprofv3 writes");
    t->domain = table_sorts[sort].domain;
    t->column_count = t->csv.expected = t->csv.count;
    t->short_rows += t->csv.has_zero; /* a column without its name is not a field of its rows */
    for (size_t i = 0; i < t->csv.count; i++) {
        hd_csv_field *name = &t->csv.fields[i];
        t->fields[i] = rocprof_csv_field(&argument, name->data, name->size);
        t->keys[i] = argument ? hd_builder_intern_text(t->run->builder, argument)
                              : hd_args_intern(&t->run->args, name->data, name->size);
        if (field_is(name, "Counter_Value")) t->keys[i] = t->run->text.value;
    }
    return HD_OK;
}

/* ---- rows ---- */

/* "Agent 4", "4", "GPU 1" */
static int64_t agent_key(hd_csv_field field)
{
    int64_t kind = field.size && field.data[0] == 'G'   ? ROCPROF_GPU_KEY
                   : field.size && field.data[0] == 'C' ? ROCPROF_CPU_KEY
                                                        : 0;
    size_t at = field.size;
    int64_t number;
    while (at && hd_json_is_digit(field.data[at - 1])) at--;
    if (!hd_json_span_int(&number, (hd_json_span){field.data + at, field.size - at})) return HD_NO_NUMBER;
    return number < ROCPROF_GPU_KEY ? kind | number : HD_NO_NUMBER;
}

static void take_field(csv_table *t, rocprof_record *record, size_t column)
{
    rocprof_field field = t->fields[column];
    const hd_csv_field *value = &t->csv.fields[column];
    hd_json_span span = {value->data, value->size};
    if (span.size == 0) return;
    if (field == ROCPROF_ARG)
        hd_args_plain(&t->run->args, t->keys[column], span);
    else if (field < ROCPROF_NAMES)
        record->names[field] = hd_args_intern(&t->run->args, span.data, span.size);
    else if (field <= ROCPROF_TARGET)
        record->numbers[field] = agent_key(*value);
    else if (!hd_json_span_int(&record->numbers[field], span)) {
        if (t->bad_numbers++ == 0) t->bad_offset = t->csv.offset;
        hd_args_plain(&t->run->args, t->keys[column], span);
    }
}

/* "HIP_RUNTIME_API_EXT" -> "hip_api" */
static uint32_t list_of_kind(hd_builder *builder, hd_string kind)
{
    char text[32];
    size_t size = 0;
    while (size < kind.size && size < 20 && kind.data[size] != '_') {
        char c = kind.data[size];
        text[size++] = c >= 'A' && c <= 'Z' ? (char)(c | 0x20) : c;
    }
    memcpy(text + size, "_api", 4);
    if (!hd_utf8_valid(text, size + 4, false)) return hd_builder_intern_text(builder, "api");
    return hd_builder_intern(builder, text, size + 4);
}

static hd_status see_row(csv_table *t, hd_error *err)
{
    rocprof_run *run = t->run;
    rocprof_record record;
    rocprof_record_init(&record, t->domain, HD_STRING_NONE);
    for (size_t i = 0; i < t->csv.count && i < t->column_count; i++) take_field(t, &record, i);
    for (size_t i = 0; i < SORTS; i++)
        if (table_sorts[i].domain == t->domain) record.list = hd_builder_intern_text(run->builder, table_sorts[i].list);
    if (t->domain == ROCPROF_CALLS)
        record.list = list_of_kind(run->builder, hd_builder_string(run->builder, record.names[ROCPROF_KIND]));
    if (record.numbers[ROCPROF_PROCESS] != HD_NO_NUMBER) run->pid = record.numbers[ROCPROF_PROCESS];
    return rocprof_emit(run, &record, err);
}

/* Agents by their number among all; GPUs are numbered in order of appearance. */
static hd_status see_agent(csv_table *t, const int *columns, hd_error *err)
{
    rocprof_run *run = t->run;
    const hd_csv_field *fields = t->csv.fields;
    int64_t node, units = HD_NO_NUMBER;
    if (!hd_json_span_int(&node, (hd_json_span){fields[columns[0]].data, fields[columns[0]].size})) return HD_OK;
    bool is_gpu = field_is(&fields[columns[1]], "GPU");
    uint32_t device = 0;
    for (size_t i = 0; i < run->agents.count; i++) device += run->agents.entries[i].value != ROCPROF_CPU_AGENT;
    if (!hd_map_set(&run->agents, (uint64_t)node, 0, is_gpu ? device : ROCPROF_CPU_AGENT)) return HD_NOMEM(err);
    if (!is_gpu || run->ordinal) return HD_OK;
    if (columns[3] >= 0) hd_json_span_int(&units, (hd_json_span){fields[columns[3]].data, fields[columns[3]].size});
    uint32_t name =
        columns[2] < 0 ? HD_STRING_NONE : hd_args_intern(&run->args, fields[columns[2]].data, fields[columns[2]].size);
    rocprof_add_device(run, device, hd_builder_string(run->builder, name), units);
    return HD_OK;
}

/* All columns of an agent, as the JSON has them. */
static void keep_agent(csv_table *t)
{
    hd_json_out *out = &t->run->agents_text;
    hd_json_put_text(out, out->size ? ",{" : "[{");
    for (size_t i = 0; i < t->column_count; i++) {
        hd_string key = hd_builder_string(t->run->builder, t->keys[i]);
        uint32_t value = hd_args_intern(&t->run->args, t->csv.fields[i].data, t->csv.fields[i].size);
        hd_string text = hd_builder_string(t->run->builder, value);
        if (i) hd_json_put_text(out, ",");
        hd_json_put_string(out, key.data, key.size);
        hd_json_put_text(out, ":");
        hd_json_put_string(out, text.data, text.size);
    }
    hd_json_put_text(out, "}");
}

static hd_status read_rows(csv_table *t, hd_error *err)
{
    const int columns[] = {column_of(t, "Node_Id"), column_of(t, "Agent_Type"), column_of(t, "Product_Name"),
                           column_of(t, "Cu_Count")};
    for (hd_status status;;) {
        status = hd_csv_next(&t->csv, err);
        if (status == HD_END) return HD_OK;
        HD_TRY(status);
        if (t->csv.count != t->column_count || t->csv.unclosed || t->csv.cut || t->csv.has_zero) {
            if (t->short_rows++ == 0) t->short_offset = t->csv.offset;
            if (t->domain == ROCPROF_AGENTS || t->csv.has_zero) continue;
        }
        if (t->domain == ROCPROF_AGENTS) {
            keep_agent(t);
            HD_TRY(see_agent(t, columns, err));
        } else {
            HD_TRY(see_row(t, err));
        }
    }
}

static hd_status tell_damage(csv_table *t, hd_error *err)
{
    rocprof_run *run = t->run;
    bool is_short = t->short_rows > 0;
    if (run->options->strict && (is_short || t->bad_numbers))
        return hd_error_set(err, HD_ERR_DAMAGED, NULL, is_short ? t->short_offset : t->bad_offset, "%s",
                            is_short ? "a row has bytes of 0, or not as many fields as there are columns"
                                     : "a number that is none, or beyond 64 bits");
    if (is_short)
        hd_builder_ledger(run->builder, ROCPROF_STAGE, "rocprofv3.row-damaged", HD_LEDGER_LOSS, t->short_rows,
                          t->short_offset);
    if (t->bad_numbers)
        hd_builder_ledger(run->builder, ROCPROF_STAGE, "rocprofv3.number-damaged", HD_LEDGER_REPAIR, t->bad_numbers,
                          t->bad_offset);
    hd_builder_facts(run->builder)->input_bytes += t->csv.read_bytes;
    return HD_OK;
}

hd_status rocprof_read_csv(rocprof_run *run, hd_input *input, hd_error *err)
{
    csv_table *t = calloc(1, sizeof *t);
    if (!t) return HD_NOMEM(err);
    t->run = run;
    t->csv.input = input;
    hd_status status = read_header(t, err);
    if (status == HD_OK) status = read_rows(t, err);
    if (status == HD_OK) status = tell_damage(t, err);
    hd_csv_deinit(&t->csv);
    free(t);
    return status;
}

/* ---- folders ---- */

/* Size of the process part of a table's name: the part before "_kernel_trace.csv"; 0: another kind of name. */
static size_t process_part(const char *name)
{
    static const char *const ends[] = {
        "_agent_info.csv",           "_counter_collection.csv",    "_api_trace.csv",
        "_kernel_trace.csv",         "_memory_copy_trace.csv",     "_memory_allocation_trace.csv",
        "_scratch_memory_trace.csv", "_pc_sampling_host_trap.csv", "_pc_sampling_stochastic.csv"};
    size_t size = strlen(name);
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        if (!hd_ends_with(name, size, ends[i])) continue;
        size -= strlen(ends[i]);
        while (strcmp(ends[i], "_api_trace.csv") == 0 && size && name[size - 1] != '_') size--; /* "12_hip" */
        return size && name[size - 1] == '_' ? size - 1 : size;
    }
    return 0;
}

static int is_table(const struct dirent *entry)
{
    return process_part(entry->d_name) > 0;
}

static hd_status read_file(rocprof_run *run, const char *path, hd_error *err)
{
    hd_input *input;
    const uint8_t *head;
    size_t size;
    HD_TRY(hd_input_open(&input, path, NULL, err));
    hd_status status = hd_input_peek(input, &head, &size, err);
    if (status == HD_OK && rocprof_is_csv(head, size))
        status = rocprof_read_csv(run, input, err);
    else if (status == HD_OK)
        hd_builder_ledger(run->builder, ROCPROF_STAGE, "rocprofv3.table-unread", HD_LEDGER_LOSS, 1, HD_OFFSET_NONE);
    hd_builder_facts(run->builder)->stored_bytes += hd_input_size_bytes(input);
    for (size_t i = 0; i < hd_input_damage_count(input); i++) {
        const hd_input_damage *damage = hd_input_damage_at(input, i);
        hd_builder_ledger(run->builder, "input", damage->code, HD_LEDGER_LOSS, damage->count, damage->offset);
    }
    hd_input_close(input);
    if (status != HD_OK && err && !err->path[0]) hd_error_set_path(err, path);
    return status;
}

static hd_status read_tables(rocprof_run *run, const char *folder, struct dirent **entries, int count, hd_error *err)
{
    uint32_t ordinal = 0;
    size_t before = 0;
    for (int i = 0; i < count; i++) {
        const char *name = entries[i]->d_name;
        size_t part = process_part(name), path_size = strlen(folder) + strlen(name) + 2;
        int64_t pid;
        if (i == 0 || part != before || memcmp(name, entries[i - 1]->d_name, part) != 0) {
            bool is_pid = hd_json_span_int(&pid, (hd_json_span){name, part}) && pid > 0;
            rocprof_run_begin(run, ordinal++, is_pid ? pid : HD_NO_NUMBER);
        }
        before = part;
        char *path = malloc(path_size);
        if (!path) return HD_NOMEM(err);
        snprintf(path, path_size, "%s/%s", folder, name);
        hd_status status = read_file(run, path, err);
        free(path);
        HD_TRY(status);
    }
    return HD_OK;
}

hd_status rocprof_read_folder(hd_builder *builder, const char *folder, const hd_read_options *options, hd_error *err)
{
    struct dirent **entries = NULL;
    rocprof_run run;
    int count = scandir(folder, &entries, is_table, alphasort);
    hd_status status = count > 0 ? rocprof_run_init(&run, builder, options, err) : HD_END;
    if (status == HD_OK) status = read_tables(&run, folder, entries, count, err);
    if (status == HD_OK) status = rocprof_run_finish(&run, err);
    if (count > 0) rocprof_run_deinit(&run);
    for (int i = 0; i < count; i++) free(entries[i]);
    free(entries);
    return status;
}
