/* term.c - standard output: colour, width, and write errors */
#include "cli/cli.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

static bool color_wanted(void)
{
    const char *no_color = getenv("NO_COLOR");
    const char *term = getenv("TERM");
    return isatty(STDOUT_FILENO) && !(no_color && *no_color) && !(term && strcmp(term, "dumb") == 0);
}

void cli_term_init(cli_run *run)
{
    run->color = run->global.color == CLI_COLOR_ALWAYS || (run->global.color == CLI_COLOR_AUTO && color_wanted());
    run->is_terminal = isatty(STDOUT_FILENO);
    struct winsize size;
    run->width = !run->is_terminal                                             ? CLI_PIPE_WIDTH
                 : ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col ? size.ws_col
                                                                               : 80;
    if (run->global.wide) run->width = 0;
}

const char *cli_style(const cli_run *run, cli_look look)
{
    static const char *const escapes[] = {
        [CLI_PLAIN] = "\033[0m",  [CLI_BOLD] = "\033[1m",    [CLI_DIM] = "\033[2m",   [CLI_RED] = "\033[31m",
        [CLI_GREEN] = "\033[32m", [CLI_YELLOW] = "\033[33m", [CLI_CYAN] = "\033[36m",
    };
    return run->color ? escapes[look] : "";
}

void cli_print_heading(cli_run *run, const char *name, const char *meaning)
{
    const char *plain = cli_style(run, CLI_PLAIN);
    cli_print(run, "\n%s%s%s%s: %s%s\n", cli_style(run, CLI_BOLD), name, plain, cli_style(run, CLI_DIM), meaning,
              plain);
}

static void keep_error(cli_run *run)
{
    if (!run->out_error) run->out_error = errno ? errno : EIO;
}

void cli_print(cli_run *run, const char *format, ...)
{
    if (run->out_error) return;
    va_list args;
    va_start(args, format);
    errno = 0;
    if (vprintf(format, args) < 0) keep_error(run);
    va_end(args);
}

hd_status cli_write(void *user, const char *data, size_t size)
{
    cli_run *run = user;
    if (run->out_error) return HD_ERR_IO;
    errno = 0;
    if (fwrite(data, 1, size, stdout) == size) return HD_OK;
    keep_error(run);
    return HD_ERR_IO;
}
