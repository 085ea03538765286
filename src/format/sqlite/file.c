/* file.c - pages, b-trees of tables, and records
 *
 * Format   header of 100 bytes, then pages; page 1 is the root of the schema. A table is a b-tree: interior pages (5)
 *          have children, leaves (13) have cells: size and rowid as varints, then the record. Bytes that do not fit
 *          into a page are in a chain of overflow pages.
 * Limits   records of 64 MiB, trees 24 pages deep, 256 columns
 */
#include "base/error.h"
#include "base/memory/vector.h"
#include "format/sqlite/sqlite.h"

#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

enum { HEADER = 100, INTERIOR = 5, LEAF = 13, DEPTH = 24 };

static uint32_t be16(const uint8_t *p)
{
    return (uint32_t)p[0] << 8 | p[1];
}
static uint32_t be32(const uint8_t *p)
{
    return be16(p) << 16 | be16(p + 2);
}
static int64_t be_signed(const uint8_t *p, unsigned width)
{
    uint64_t value = p[0] & 0x80 ? UINT64_MAX : 0;
    for (unsigned i = 0; i < width; i++) value = value << 8 | p[i];
    return (int64_t)value;
}

/* A varint of SQLite: seven bits per byte, high ones first; the ninth byte has eight. NULL: it runs over the end. */
static const uint8_t *varint(uint64_t *out, const uint8_t *p, const uint8_t *end)
{
    uint64_t value = 0;
    for (unsigned i = 0; i < 8; i++) {
        if (p >= end) return NULL;
        value = value << 7 | (*p & 0x7f);
        if (*p++ < 0x80) {
            *out = value;
            return p;
        }
    }
    if (p >= end) return NULL;
    *out = value << 8 | *p;
    return p + 1;
}

/* ---- damage ---- */

static void note_damage(sq_damage *damage, uint64_t *counter, uint64_t offset)
{
    if (damage->pages + damage->rows == 0) damage->offset = offset;
    ++*counter;
}

void sq_damage_add(sq_damage *sum, const sq_damage *more)
{
    if (sum->pages + sum->rows == 0) sum->offset = more->offset;
    sum->pages += more->pages;
    sum->rows += more->rows;
    sum->defaults += more->defaults;
}

/* ---- pages ---- */

static uint64_t offset_of(const sq_file *file, uint32_t page)
{
    return (uint64_t)(page - 1) * file->page_size;
}

/* Whether it is a page of the file that was not read yet. Marks it as read. */
static bool take_page(sq_file *file, uint32_t page)
{
    if (page == 0 || page > file->page_count) return false;
    return atomic_exchange_explicit(&file->seen[page - 1], 1, memory_order_relaxed) == 0;
}

/* The start of the page header, which on page 1 is after the file's header. */
static uint32_t header_of(uint32_t page)
{
    return page == 1 ? HEADER : 0;
}

/* Which bytes of a page are in front of its cells or free; returns how many its cells have to take. */
static uint32_t begin_account(uint8_t *taken, const sq_file *file, const uint8_t *page, uint32_t header)
{
    uint32_t start = be16(page + header + 5), left, block = be16(page + header + 1), next, size;
    if (start == 0 || start > file->usable) start = file->usable;
    memset(taken, 1, start);
    memset(taken + start, 0, file->usable - start);
    left = file->usable - start - page[header + 7];
    for (; block >= start && block + 4 <= file->usable; block = next) {
        next = be16(page + block);
        size = be16(page + block + 2);
        if (next && next <= block) break;
        if (size > file->usable - block) size = file->usable - block;
        memset(taken + block, 1, size);
        left -= size;
    }
    return left;
}

/* A cell, which has four bytes at least; false: some of its bytes are not its own. */
static bool account_cell(uint8_t *taken, uint32_t *left, const sq_file *file, uint32_t place, uint64_t size)
{
    uint64_t end = place + (size < 4 ? 4 : size);
    if (end > file->usable || memchr(taken + place, 1, (size_t)(end - place))) return false;
    memset(taken + place, 1, (size_t)(end - place));
    *left -= (uint32_t)(end - place);
    return true;
}

static hd_status walk(sq_leaves *out, sq_file *file, const sq_page *page, unsigned depth, uint8_t *buffers,
                      hd_error *err);

static hd_status walk_child(sq_leaves *out, sq_file *file, const sq_page *page, unsigned depth, uint8_t *buffers,
                            hd_error *err)
{
    if (depth + 1 < DEPTH && take_page(file, page->number)) return walk(out, file, page, depth + 1, buffers, err);
    note_damage(&out->damage, &out->damage.pages, page->number ? offset_of(file, page->number) : 0);
    return HD_OK;
}

/* The child of a cell at its place; false: the cell makes no sense. */
static bool take_child(sq_page *out, uint32_t *left, uint8_t *taken, const sq_file *file, const uint8_t *data,
                       uint32_t place)
{
    uint64_t key;
    if (place + 4 > file->usable) return false;
    out->number = be32(data + place);
    const uint8_t *end = varint(&key, data + place + 4, data + file->usable);
    if (!end || (int64_t)key < out->least || (int64_t)key > out->most) return false;
    out->most = (int64_t)key;
    return account_cell(taken, left, file, place, (uint64_t)(end - data) - place);
}

static hd_status walk_children(sq_leaves *out, sq_file *file, const sq_page *page, unsigned depth, uint8_t *buffers,
                               hd_error *err)
{
    const uint8_t *data = buffers + 2 * (size_t)depth * file->page_size, *head = data + header_of(page->number);
    uint8_t *taken = buffers + (2 * (size_t)depth + 1) * file->page_size;
    uint32_t cells = be16(head + 3), left = begin_account(taken, file, data, header_of(page->number));
    sq_page last = *page;
    bool is_odd = head + 12 + 2 * (size_t)cells > data + file->usable;
    for (uint32_t i = 0; i < cells && head + 14 + 2 * (size_t)i <= data + file->usable; i++) {
        sq_page child = last;
        uint32_t place = be16(head + 12 + 2 * (size_t)i);
        bool fits = take_child(&child, &left, taken, file, data, place);
        is_odd |= !fits;
        if (fits) last.least = child.most == INT64_MAX ? INT64_MAX : child.most + 1;
        if (fits || place + 4 <= file->usable) HD_TRY(walk_child(out, file, &child, depth, buffers, err));
    }
    if (is_odd || left) note_damage(&out->damage, &out->damage.pages, offset_of(file, page->number));
    last.number = be32(head + 8);
    return walk_child(out, file, &last, depth, buffers, err);
}

/* A page taken by take_page: a leaf, or one with children. `buffers` has room for two pages at each depth. */
static hd_status walk(sq_leaves *out, sq_file *file, const sq_page *page, unsigned depth, uint8_t *buffers,
                      hd_error *err)
{
    uint8_t type;
    uint64_t offset = offset_of(file, page->number);
    HD_TRY(hd_pieces_read(&file->pieces, &type, offset + header_of(page->number), 1, err));
    if (type == LEAF) {
        if (!hd_grow((void **)&out->pages, &out->capacity, out->count, sizeof *out->pages)) return HD_NOMEM(err);
        out->pages[out->count++] = *page;
        return HD_OK;
    }
    if (type != INTERIOR) {
        note_damage(&out->damage, &out->damage.pages, offset);
        return HD_OK;
    }
    uint8_t *data = buffers + 2 * (size_t)depth * file->page_size;
    HD_TRY(hd_pieces_read(&file->pieces, data, offset, file->page_size, err));
    return walk_children(out, file, page, depth, buffers, err);
}

hd_status sq_file_leaves(sq_leaves *out, sq_file *file, const sq_table *table, hd_error *err)
{
    const sq_page root = {table->root, INT64_MIN, INT64_MAX};
    *out = (sq_leaves){.damage.offset = HD_OFFSET_NONE};
    if (table->by_library) { /* all rows are one */
        out->pages = calloc(1, sizeof *out->pages);
        out->count = out->capacity = 1;
        return out->pages ? HD_OK : HD_NOMEM(err);
    }
    uint8_t *buffers = malloc(2 * (size_t)DEPTH * file->page_size);
    if (!buffers) return HD_NOMEM(err);
    hd_status status = HD_OK;
    if (take_page(file, table->root))
        status = walk(out, file, &root, 0, buffers, err);
    else
        note_damage(&out->damage, &out->damage.pages, table->root ? offset_of(file, table->root) : 0);
    free(buffers);
    return status;
}

/* ---- records ---- */

/* How much of a record of that size is in its page. */
static uint64_t local_size(const sq_file *file, uint64_t size)
{
    uint64_t usable = file->usable, least = (usable - 12) * 32 / 255 - 23, kept;
    if (size <= usable - 35) return size;
    kept = least + (size - least) % (usable - 4);
    return kept <= usable - 35 ? kept : least;
}

/* The whole record of a cell whose first bytes are given; NULL: damaged, or another error in *out_status. */
static const uint8_t *join_overflow(hd_status *out_status, sq_cursor *c, const uint8_t *local, uint64_t kept,
                                    uint64_t size, hd_error *err)
{
    sq_file *file = c->file;
    c->payload.size = 0;
    hd_bytes_put(&c->payload, local, (size_t)kept);
    uint32_t page = be32(local + kept);
    while (c->payload.size < size && take_page(file, page)) {
        const uint8_t *data = hd_window_at(&c->overflow, offset_of(file, page), file->page_size, err);
        if (!data) {
            *out_status = err ? err->status : HD_ERR_IO;
            return NULL;
        }
        uint64_t left = size - c->payload.size, room = file->usable - 4;
        hd_bytes_put(&c->payload, data + 4, (size_t)(left < room ? left : room));
        page = be32(data);
    }
    if (c->payload.failed) *out_status = HD_NOMEM(err);
    return c->payload.failed || c->payload.size < size ? NULL : c->payload.data;
}

static const uint8_t sizes[10] = {0, 1, 2, 3, 4, 6, 8, 8, 0, 0};

static const uint8_t *take_value(sq_value *out, uint64_t serial, const uint8_t *p, const uint8_t *end)
{
    if (serial >= 12) {
        uint64_t size = (serial - 12) / 2;
        *out = (sq_value){.type = serial & 1 ? SQ_TEXT : SQ_BLOB, .size = (size_t)size, .data = (const char *)p};
        return size <= (uint64_t)(end - p) ? p + size : NULL;
    }
    if (serial >= 10 || sizes[serial] > end - p) return NULL;
    *out = (sq_value){.type = serial == 0 ? SQ_NULL : serial == 7 ? SQ_REAL : SQ_INT};
    if (serial >= 8)
        out->number = (int64_t)serial - 8;
    else if (serial)
        out->number = be_signed(p, sizes[serial]);
    return p + sizes[serial];
}

/* A column that the record does not have, since it was added later. */
static void take_default(sq_cursor *c, uint32_t column)
{
    if (!c->defaults) return;
    c->values[column] = c->defaults[column].value;
    c->damage.defaults += c->defaults[column].is_unread;
}

static bool parse_record(sq_cursor *c, const uint8_t *data, uint64_t size)
{
    uint64_t header, serial;
    const uint8_t *end = data + size, *at = varint(&header, data, end);
    if (!at || header > size || header < (uint64_t)(at - data)) return false;
    const uint8_t *body = data + header, *types_end = body;
    for (uint32_t i = 0; i < c->columns; i++) {
        c->values[i] = (sq_value){.type = SQ_NULL};
        if (at >= types_end) {
            take_default(c, i);
            continue;
        }
        if (*at < 0x80)
            serial = *at++;
        else if (!(at = varint(&serial, at, types_end)))
            return false;
        body = take_value(&c->values[i], serial, body, end);
        if (!body) return false;
    }
    if (c->rowid_column >= 0) c->values[c->rowid_column] = (sq_value){.type = SQ_INT, .number = c->rowid};
    return true;
}

/* ---- cursor ---- */

void sq_cursor_begin(sq_cursor *c, sq_file *file, const sq_table *table, const sq_page *pages, size_t count)
{
    c->file = file;
    c->table = table;
    c->columns = table->column_count;
    sq_library_rewind(c);
    c->rowid_column = table->rowid_column;
    c->defaults = table->defaults;
    c->pages = pages;
    c->page_count = count;
    c->page_at = 0;
    c->page = NULL;
    c->window.pieces = c->overflow.pieces = &file->pieces;
    c->damage = (sq_damage){.offset = HD_OFFSET_NONE};
}

void sq_cursor_deinit(sq_cursor *c)
{
    sq_library_rewind(c);
    hd_window_deinit(&c->window);
    hd_window_deinit(&c->overflow);
    hd_bytes_deinit(&c->payload);
}

static hd_status next_page(sq_cursor *c, hd_error *err)
{
    if (c->page_at == c->page_count) return HD_END;
    const sq_page *page = &c->pages[c->page_at++];
    c->page_offset = offset_of(c->file, page->number);
    c->page = hd_window_at(&c->window, c->page_offset, c->file->page_size, err);
    if (!c->page) return err && err->status ? err->status : HD_ERR_IO;
    c->header = header_of(page->number);
    c->left = begin_account(c->taken, c->file, c->page, c->header);
    c->least = page->least;
    c->is_odd = c->is_counted = false;
    c->cell = 0;
    c->cells = c->page[c->header] == LEAF ? be16(c->page + c->header + 3) : 0;
    if (c->header + 8 + 2 * c->cells > c->file->usable) {
        note_damage(&c->damage, &c->damage.pages, c->page_offset);
        c->cells = 0;
        c->is_counted = true;
    }
    return HD_OK;
}

/* A cell and its rowid, as they have to be next to the others of the page. */
static void account_row(sq_cursor *c, uint32_t place, uint64_t size)
{
    bool is_behind = c->rowid >= c->least && c->rowid <= c->pages[c->page_at - 1].most;
    if (!account_cell(c->taken, &c->left, c->file, place, size) || !is_behind) c->is_odd = true;
    if (c->rowid >= c->least && c->rowid < INT64_MAX) c->least = c->rowid + 1;
}

/* A page is counted once, by its rows or as a whole. */
static void account_page(sq_cursor *c)
{
    if (c->page && !c->is_counted && (c->is_odd || c->left)) note_damage(&c->damage, &c->damage.pages, c->page_offset);
}

/* false: invalid, or another error in *out_status. */
static bool parse_cell(hd_status *out_status, sq_cursor *c, hd_error *err)
{
    const sq_file *file = c->file;
    uint32_t place = be16(c->page + c->header + 8 + 2 * (size_t)c->cell);
    if (place >= file->usable) return false;
    uint64_t size, rowid;
    const uint8_t *end = c->page + file->usable, *at = varint(&size, c->page + place, end);
    if (at) at = varint(&rowid, at, end);
    if (!at || size > SQ_RECORD_LIMIT) return false;
    c->rowid = (int64_t)rowid;
    uint64_t kept = local_size(file, size);
    if (kept + (kept < size ? 4 : 0) > (uint64_t)(end - at)) return false;
    account_row(c, place, (uint64_t)(at - c->page) - place + kept + (kept < size ? 4 : 0));
    const uint8_t *record = kept == size ? at : join_overflow(out_status, c, at, kept, size, err);
    return record && parse_record(c, record, size);
}

hd_status sq_cursor_next(sq_cursor *c, hd_error *err)
{
    if (c->table->by_library) return sq_library_next(c, err);
    for (;;) {
        hd_status status = HD_OK;
        if (!c->page || c->cell == c->cells) {
            account_page(c);
            c->page = NULL;
            HD_TRY(next_page(c, err));
            continue;
        }
        bool fine = parse_cell(&status, c, err);
        c->cell++;
        if (fine) return HD_OK;
        if (status != HD_OK) return status;
        note_damage(&c->damage, &c->damage.rows, c->page_offset);
        c->is_counted = true;
    }
}

/* ---- the schema ---- */

static bool is_text(const sq_value *value, const char *text)
{
    return value->type == SQ_TEXT && value->size == strlen(text) && memcmp(value->data, text, value->size) == 0;
}

void sq_table_deinit(sq_table *table)
{
    for (uint32_t i = 0; i < table->column_count; i++) free(table->columns[i]);
    free(table->columns);
    free(table->defaults);
    free(table->name);
}

/* The kind of a schema row. Its type and its SQL agree unless it is damaged; SQL alone suffices for a table, since
 * SQLite stores it as "CREATE TABLE NAME(…)" whatever the program wrote. */
typedef enum schema_row { ROW_UNKNOWN, ROW_TABLE, ROW_TABLE_OF_OTHER_TYPE, ROW_WITHOUT_DATA } schema_row;

static bool begins(const sq_value *sql, const char *words)
{
    return sql->type == SQ_TEXT && sql->size > strlen(words) && strncasecmp(sql->data, words, strlen(words)) == 0;
}

static schema_row classify_row(const sq_value *row)
{
    static const struct {
        const char *type, *sql[2];
    } others[] = {{"index", {"CREATE INDEX ", "CREATE UNIQUE INDEX "}},
                  {"view", {"CREATE VIEW "}},
                  {"trigger", {"CREATE TRIGGER "}}};
    const sq_value *sql = &row[4];
    if (is_text(&row[0], "table")) return ROW_TABLE;
    if (begins(sql, "CREATE TABLE ")) return ROW_TABLE_OF_OTHER_TYPE;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        bool fits = begins(sql, others[i].sql[0]) || (others[i].sql[1] && begins(sql, others[i].sql[1]));
        if (is_text(&row[0], others[i].type) && (fits || sql->type == SQ_NULL)) return ROW_WITHOUT_DATA;
    }
    return ROW_UNKNOWN;
}

/* A row of the schema: type, name, tbl_name, rootpage, sql. */
static hd_status add_table(sq_file *file, const sq_cursor *cursor, hd_error *err)
{
    const sq_value *row = cursor->values;
    bool no_memory = false;
    schema_row kind = classify_row(row);
    if (kind == ROW_WITHOUT_DATA) return HD_OK;
    bool fine = kind != ROW_UNKNOWN && row[1].type == SQ_TEXT && row[3].type == SQ_INT && row[4].type == SQ_TEXT &&
                row[3].number > 1 && row[3].number <= UINT32_MAX && !memchr(row[1].data, 0, row[1].size);
    bool is_other_kind = kind == ROW_TABLE && begins(&row[4], "CREATE VIRTUAL TABLE ");
    sq_table table = {.root = fine ? (uint32_t)row[3].number : 0, .rowid_column = -1};
    if (fine && !is_other_kind) fine = sq_schema_parse(&table, &no_memory, &is_other_kind, row[4].data, row[4].size);
    if (fine) table.name = strndup(row[1].data, row[1].size);
    if (fine && table.name && hd_grow((void **)&file->tables, &file->table_capacity, file->table_count, sizeof table)) {
        file->tables[file->table_count++] = table;
        file->schema_repaired += kind == ROW_TABLE_OF_OTHER_TYPE;
        return HD_OK;
    }
    sq_table_deinit(&table);
    if (no_memory || fine) return HD_NOMEM(err);
    if (is_other_kind)
        file->unreadable++;
    else
        note_damage(&file->damage, &file->damage.rows, cursor->page_offset);
    file->not_understood += !is_other_kind;
    return HD_OK;
}

static hd_status read_schema(sq_file *file, hd_error *err)
{
    static const sq_table schema = {.name = NULL, .column_count = 5, .rowid_column = -1, .root = 1};
    sq_leaves leaves;
    sq_cursor *cursor = calloc(1, sizeof *cursor);
    if (!cursor) return HD_NOMEM(err);
    hd_status status = sq_file_leaves(&leaves, file, &schema, err);
    sq_cursor_begin(cursor, file, &schema, leaves.pages, leaves.count);
    while (status == HD_OK && (status = sq_cursor_next(cursor, err)) == HD_OK) status = add_table(file, cursor, err);
    sq_damage_add(&file->damage, &leaves.damage);
    sq_damage_add(&file->damage, &cursor->damage);
    sq_cursor_deinit(cursor);
    free(cursor);
    free(leaves.pages);
    return status == HD_END ? HD_OK : status;
}

/* ---- the file ---- */

bool sq_is_file(const unsigned char *head, size_t size)
{
    return size >= HEADER && memcmp(head, "SQLite format 3", 16) == 0;
}

static hd_status read_header(sq_file *file, hd_error *err)
{
    uint8_t head[HEADER];
    if (file->pieces.size < HEADER)
        return hd_error_set(err, HD_ERR_DAMAGED, NULL, 0, "is cut within the header of an SQLite file");
    HD_TRY(hd_pieces_read(&file->pieces, head, 0, sizeof head, err));
    file->page_size = be16(head + 16) == 1 ? 65536 : be16(head + 16);
    if (file->page_size < 512 || (file->page_size & (file->page_size - 1)) || head[20] + 480u > file->page_size)
        return hd_error_set(err, HD_ERR_DAMAGED, NULL, 16, "is not an SQLite file: its pages would have %u bytes",
                            file->page_size);
    file->usable = file->page_size - head[20];
    file->is_utf16 = be32(head + 56) > 1;
    uint64_t pages = file->pieces.size / file->page_size;
    file->page_count = pages > UINT32_MAX ? UINT32_MAX : (uint32_t)pages;
    if (file->page_count == 0)
        return hd_error_set(err, HD_ERR_DAMAGED, NULL, file->pieces.size, "is cut within its first page");
    file->seen = calloc(file->page_count, sizeof *file->seen);
    return file->seen ? HD_OK : HD_NOMEM(err);
}

/* Whether a file of that suffix next to the database has pages that SQLite would prefer to those of the database. An
 * emptied file, or one with an erased header, has none. */
static bool has_pages_beside(const char *path, const char *suffix, const void *magic, size_t magic_size, size_t least)
{
    uint8_t head[8] = {0};
    char *name;
    if (!path || asprintf(&name, "%s%s", path, suffix) < 0) return false;
    FILE *file = fopen(name, "rbe");
    free(name);
    if (!file) return false;
    bool found = fread(head, 1, sizeof head, file) == sizeof head && memcmp(head, magic, magic_size) == 0 &&
                 fseek(file, 0, SEEK_END) == 0 && ftell(file) > (long)least;
    fclose(file);
    return found;
}

static void look_beside(sq_file *file, const char *path)
{
    static const uint8_t journal[8] = {0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7};
    static const uint8_t wal[3] = {0x37, 0x7f, 0x06}; /* the last byte says the order of bytes of its checksums */
    file->has_wal = has_pages_beside(path, "-wal", wal, sizeof wal, 32);
    file->has_journal = has_pages_beside(path, "-journal", journal, sizeof journal, 28);
}

/* Without SQLite, or of a file that it refuses, these tables are lost. */
static void drop_unreadable(sq_file *file)
{
    size_t count = 0;
    for (size_t i = 0; i < file->table_count; i++) {
        sq_table *table = &file->tables[i];
        if (!table->is_without_rowid || table->by_library) {
            file->tables[count++] = *table;
            continue;
        }
        sq_table_deinit(table);
        file->unreadable++;
    }
    file->table_count = count;
}

hd_status sq_file_open(sq_file *out, hd_input *input, hd_error *err)
{
    const char *path = hd_input_file(input);
    *out = (sq_file){.damage.offset = HD_OFFSET_NONE};
    look_beside(out, path);
    HD_TRY(hd_pieces_open(&out->pieces, input, err));
    HD_TRY(read_header(out, err));
    if (!out->is_utf16) HD_TRY(read_schema(out, err));
    sq_library_take(out, path);
    drop_unreadable(out);
    if (out->table_count) return HD_OK;
    if (out->is_utf16)
        return hd_error_set(err, HD_ERR_UNSUPPORTED, NULL, 56,
                            "is an SQLite file with text in UTF-16 that cannot be read: "
                            "`sqlite3 FILE .dump | sqlite3 NEW` makes one in UTF-8");
    return hd_error_set(err, HD_ERR_DAMAGED, NULL, 0, "is an SQLite file in which not one table can be read");
}

void sq_file_close(sq_file *file)
{
    sq_library_close(file);
    for (size_t i = 0; i < file->table_count; i++) sq_table_deinit(&file->tables[i]);
    free(file->tables);
    free((void *)file->seen);
    hd_pieces_close(&file->pieces);
}

const sq_table *sq_file_table(const sq_file *file, const char *name)
{
    for (size_t i = 0; i < file->table_count; i++) {
        if (strcasecmp(file->tables[i].name, name) == 0) return &file->tables[i];
    }
    return NULL;
}

int sq_table_column(const sq_table *table, const char *name)
{
    for (uint32_t i = 0; i < table->column_count; i++) {
        if (strcasecmp(table->columns[i], name) == 0) return (int)i;
    }
    return -1;
}
