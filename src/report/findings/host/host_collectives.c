/* host_collectives.c - collectives that the host does: of tensors that could be on GPUs */
#include "report/findings/finding.h"

static bool is_one(hd_string name)
{
    return findings_begins(name, "gloo:") || hd_string_holds(name, "ProcessGroupGloo::");
}

static hd_status find(findings *f, const finding_rule *rule, hd_error *err)
{
    return findings_find_named(f, rule, is_one, "Collectives run on the host, by Gloo,", "calls", err);
}

const finding_rule finding_host_collectives = {
    .about.code = "host-collectives",
    .about.severity = "warning",
    .about.meaning = "collectives run on the host, by Gloo",
    .about.advice =
        "init_process_group(backend=\"nccl\") for tensors on GPUs; gather objects and metrics every N steps "
        "(all_gather_object goes through the host).",
    .find = find,
};
