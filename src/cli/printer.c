/* printer.c - reports of commands whose result may go to standard output */
#include "cli/printer.h"

#include <stdarg.h>
#include <string.h>

#include "heddle/report.h"

hd_status cli_printer_write(void *user, const char *data, size_t size)
{
    cli_printer *p = user;
    if (!p->to_stderr) return cli_write(p->run, data, size);
    fwrite(data, 1, size, stderr);
    return HD_OK;
}

void cli_say(cli_printer *printer, const char *format, ...)
{
    char text[1024];
    va_list args;
    va_start(args, format);
    int size = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (size >= (int)sizeof text) size = (int)sizeof text - 1;
    if (size > 0) cli_printer_write(printer, text, (size_t)size);
}

void cli_say_name(cli_printer *printer, const char *name)
{
    hd_text_write((hd_sink){cli_printer_write, printer}, name, strlen(name));
}

hd_status cli_say_table_json(cli_printer *printer, const char *key, hd_status status, hd_table **table)
{
    const hd_table_style style = {.format = HD_TABLE_JSON, .indent = 2};
    if (status != HD_OK) return status;
    cli_say(printer, ",\n  \"%s\":", key);
    status = hd_table_write(*table, (hd_sink){cli_printer_write, printer}, &style, &printer->run->err);
    hd_table_free(*table);
    return status;
}

void cli_say_text_json(cli_printer *printer, const char *key, const char *text)
{
    hd_table_builder *b;
    hd_table *table;
    hd_error *err = &printer->run->err;
    if (hd_table_builder_new(&b, key, err) != HD_OK) return;
    hd_table_add_column(b, key, HD_VALUE_STRING);
    hd_table_add_text(b, text);
    if (hd_table_finish(&table, b, err) != HD_OK) return;
    hd_table_write_members(table, 0, (hd_sink){cli_printer_write, printer}, err);
    hd_table_free(table);
}
