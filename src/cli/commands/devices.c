/* devices.c - heddle devices: the GPUs of this machine, how they are linked, and which ways to capture work */
#include "cli/cli.h"
#include "cli/commands/ways_out.h"
#include "cli/report_out.h"
#include "cli/table_out.h"

#include <inttypes.h>
#include <string.h>

#include "heddle/capture/devices.h"

struct devices_options {
    const char *root, *nvml;
};

static const cli_option options[] = {
    {.name = "root",
     .kind = CLI_TEXT,
     .value = "DIR",
     .field = offsetof(struct devices_options, root),
     .help = "look at DIR/sys and DIR/proc, such as the host's in a container"},
    {.name = "nvml",
     .kind = CLI_TEXT,
     .value = "FILE",
     .field = offsetof(struct devices_options, nvml),
     .help = "ask this library instead of libnvidia-ml.so.1"},
    {0},
};

/* ---- tables ---- */

static void cell_int(hd_table_builder *b, int64_t value)
{
    if (value < 0)
        hd_table_add_null(b);
    else
        hd_table_add_int(b, value);
}

static void cell_text(hd_table_builder *b, const char *text)
{
    if (text[0])
        hd_table_add_text(b, text);
    else
        hd_table_add_null(b);
}

static void cells_gpu(hd_table_builder *b, size_t at, const hd_gpu *gpu, bool all)
{
    hd_table_add_int(b, (int64_t)at);
    cell_text(b, gpu->name);
    if (gpu->memory_bytes < 0)
        hd_table_add_null(b);
    else
        hd_table_add_count(b, (uint64_t)gpu->memory_bytes);
    cell_int(b, gpu->multiprocessors);
    cell_text(b, gpu->architecture);
    cell_text(b, gpu->driver);
    cell_text(b, gpu->pci);
    cell_int(b, gpu->numa_node);
    cell_text(b, gpu->cpus);
    cell_text(b, gpu->problem);
    if (!all) return;
    hd_table_add_text(b, hd_gpu_vendor_name(gpu->vendor));
    cell_int(b, gpu->index);
    cell_text(b, gpu->uuid);
    cell_int(b, gpu->pci_vendor_id);
    cell_int(b, gpu->pci_device_id);
    cell_int(b, gpu->pcie_lanes);
    cell_int(b, gpu->pcie_lanes_max);
    cell_text(b, gpu->pcie_speed);
    cell_text(b, gpu->source);
}

static hd_status gpus_table(hd_table **out, const hd_devices *devices, bool all, hd_error *err)
{
    static const hd_table_column columns[] = {
        {"gpu", HD_VALUE_INT, 0},
        {"name", HD_VALUE_STRING, 0},
        {"memory", HD_VALUE_BYTES, 0},
        {"multiprocessors", HD_VALUE_INT, 0},
        {"architecture", HD_VALUE_STRING, 0},
        {"driver", HD_VALUE_STRING, 0},
        {"pci", HD_VALUE_STRING, 0},
        {"numa_node", HD_VALUE_INT, 0},
        {"cpus", HD_VALUE_STRING, 0},
        {"problem", HD_VALUE_STRING, 0},
        {"vendor", HD_VALUE_STRING, 0},
        {"index", HD_VALUE_INT, 0},
        {"uuid", HD_VALUE_STRING, 0},
        {"pci_vendor", HD_VALUE_INT, 0},
        {"pci_device", HD_VALUE_INT, 0},
        {"pcie_lanes", HD_VALUE_INT, 0},
        {"pcie_lanes_max", HD_VALUE_INT, 0},
        {"pcie_speed", HD_VALUE_STRING, 0},
        {"source", HD_VALUE_STRING, 0},
    };
    enum { ALL = sizeof columns / sizeof *columns, SHOWN = 10 };
    hd_table_builder *b;
    hd_status status = hd_table_builder_new(&b, "gpus", err);
    if (status != HD_OK) return status;
    for (size_t i = 0; i < (all ? ALL : SHOWN); i++) hd_table_add_column(b, columns[i].name, columns[i].type);
    for (size_t i = 0; i < devices->gpu_count; i++) cells_gpu(b, i, &devices->gpus[i], all);
    return hd_table_finish(out, b, err);
}

static hd_status links_table(hd_table **out, const hd_devices *devices, hd_error *err)
{
    hd_table_builder *b;
    hd_status status = hd_table_builder_new(&b, "links", err);
    if (status != HD_OK) return status;
    hd_table_add_column(b, "a", HD_VALUE_INT);
    hd_table_add_column(b, "b", HD_VALUE_INT);
    hd_table_add_column(b, "link", HD_VALUE_STRING);
    hd_table_add_column(b, "count", HD_VALUE_INT);
    hd_table_add_column(b, "mb_per_s", HD_VALUE_INT);
    for (size_t x = 0; x < devices->gpu_count; x++) {
        for (size_t y = x + 1; y < devices->gpu_count; y++) {
            const hd_gpu_path *path = &devices->paths[x * devices->gpu_count + y];
            hd_table_add_int(b, (int64_t)x);
            hd_table_add_int(b, (int64_t)y);
            cell_text(b, path->link == HD_LINK_UNKNOWN ? "" : hd_gpu_link_name(path->link));
            cell_int(b, path->count ? (int64_t)path->count : -1);
            cell_int(b, path->mb_per_s);
        }
    }
    return hd_table_finish(out, b, err);
}

/* ---- JSON ---- */

static void json_table(cli_run *run, const char *key, hd_status status, hd_table **table)
{
    const hd_table_style style = {.format = HD_TABLE_JSON, .indent = 2};
    if (status != HD_OK) return;
    cli_print(run, ",\n  \"%s\":", key);
    hd_table_write(*table, (hd_sink){cli_write, run}, &style, &run->err);
    hd_table_free(*table);
}

static void print_json(cli_run *run, const hd_devices *devices)
{
    hd_table *table = NULL;
    cli_print(run, "{\n  " CLI_SCHEMA("devices") ",\n  ");
    report_json_text(run, "driver", devices->driver);
    cli_print(run, ",\n  ");
    report_json_text(run, "cuda", devices->cuda_driver);
    cli_print(run, ",\n  ");
    report_json_text(run, "nvml", devices->nvml);
    cli_print(run, ",\n  ");
    report_json_text(run, "tracer", devices->injection);
    json_table(run, "gpus", gpus_table(&table, devices, true, &run->err), &table);
    json_table(run, "links", links_table(&table, devices, &run->err), &table);
    json_table(run, "ways", ways_table(&table, devices, &run->err), &table);
    cli_print(run, "\n}\n");
}

/* ---- text ---- */

static void title(cli_run *run, const char *text)
{
    cli_print(run, "%s%s%s\n", cli_style(run, CLI_BOLD), text, cli_style(run, CLI_PLAIN));
}

static void print_gpus(cli_run *run, const hd_devices *devices)
{
    hd_table *table, *shown;
    if (devices->gpu_count == 0) {
        cli_print(run, "no GPU was found: none on the PCI bus, in drm or kfd; NVML: %s\n", devices->nvml);
        return;
    }
    title(run, "GPUs");
    if (gpus_table(&table, devices, false, &run->err) == HD_OK) {
        if (cli_table_without(&shown, table, "", 0, &run->err) == HD_OK) {
            report_print_rows(run, shown, devices->gpu_count);
            hd_table_free(shown);
        }
        hd_table_free(table);
    }
    if (devices->cuda_driver[0])
        cli_print(run, "  driver %s runs CUDA up to %s\n", devices->driver, devices->cuda_driver);
    cli_print(run, "  NVML: %s\n", devices->nvml);
}

static const char *path_text(char *out, size_t size, const hd_gpu_path *path)
{
    if (path->count)
        snprintf(out, size, "%s%u", hd_gpu_link_name(path->link), path->count);
    else
        snprintf(out, size, "%s", hd_gpu_link_name(path->link));
    return out;
}

static void print_legend(cli_run *run, const hd_devices *devices)
{
    static const struct {
        hd_gpu_link link;
        const char *text;
    } legend[] = {
        {HD_LINK_NVLINK, "NV#   # NVLinks"},
        {HD_LINK_XGMI, "XGMI  AMD's links"},
        {HD_LINK_PIX, "PIX   at most one PCIe switch"},
        {HD_LINK_PXB, "PXB   several PCIe switches, no host bridge"},
        {HD_LINK_PHB, "PHB   through a PCIe host bridge"},
        {HD_LINK_NODE, "NODE  between host bridges of one NUMA node"},
        {HD_LINK_SYS, "SYS   between NUMA nodes"},
        {HD_LINK_UNKNOWN, "?     not known"},
    };
    size_t pairs = devices->gpu_count * devices->gpu_count;
    for (size_t i = 0; i < sizeof legend / sizeof *legend; i++) {
        size_t at = 0;
        while (at < pairs && devices->paths[at].link != legend[i].link) at++;
        if (at < pairs) cli_print(run, "  %s\n", legend[i].text);
    }
}

static void print_links(cli_run *run, const hd_devices *devices)
{
    char text[32];
    size_t count = devices->gpu_count;
    if (count < 2) return;
    cli_print(run, "\n");
    title(run, "links");
    cli_print(run, "  %-6s", "");
    for (size_t i = 0; i < count; i++) {
        snprintf(text, sizeof text, "GPU%zu", i);
        cli_print(run, i + 1 < count ? " %-6s" : " %s", text);
    }
    cli_print(run, "\n");
    for (size_t x = 0; x < count; x++) {
        snprintf(text, sizeof text, "GPU%zu", x);
        cli_print(run, "  %-6s", text);
        for (size_t y = 0; y < count; y++)
            cli_print(run, y + 1 < count ? " %-6s" : " %s",
                      path_text(text, sizeof text, &devices->paths[x * count + y]));
        cli_print(run, "\n");
    }
    print_legend(run, devices);
}

static int run(cli_run *run)
{
    const struct devices_options *chosen = run->options;
    hd_devices *devices;
    const hd_devices_options look = {.root = chosen->root, .nvml = chosen->nvml};
    if (hd_devices_new(&devices, &look, &run->err) != HD_OK) return CLI_FAILED;
    if (run->global.json) {
        print_json(run, devices);
    } else {
        print_gpus(run, devices);
        print_links(run, devices);
        if (!run->global.quiet) {
            cli_print(run, "\n");
            title(run, "ways to capture");
            ways_print(run, devices);
        }
    }
    hd_devices_free(devices);
    return run->err.status == HD_OK ? CLI_OK : CLI_FAILED;
}

const cli_command cmd_devices = {
    .name = "devices",
    .group = CLI_MAKE,
    .summary = "list this machine's GPUs, and how to capture their activity",
    .description =
        "Lists GPUs of NVIDIA, AMD and Intel with memory, multiprocessors, driver, PCI address and NUMA node, and a "
        "matrix of how each two are connected, in the terms of `nvidia-smi topo -m`. NVIDIA's NVML is used where its "
        "driver is installed; the rest comes from /sys and /proc, without other tools and without root.\n\n"
        "Then it lists each way to capture: whether it is available on this machine, what was found, and what to do "
        "if it is not. Permissions are tested, not guessed: a uprobe and an event with stacks are opened and closed "
        "again. A machine without a GPU is not an error. With -q it lists only GPUs and links.",
    .options = options,
    .options_size = sizeof(struct devices_options),
    .examples = (const cli_example[]){{"heddle devices", "what is in this machine, and what can be captured"},
                                      {"heddle devices --json | jq '.ways[] | select(.works != \"yes\") | .advice'",
                                       "what to do for the ways that are not available"},
                                      {"heddle devices --root /host", "the host's devices, from a container"},
                                      {0}},
    .has_json = true,
    .run = run,
};
