/* finding_codes.c - all that findings of traces and of jobs can be */
#include "report/findings/finding.h"
#include "report/job/slowdown/findings.h"

static size_t rule_count(void)
{
    size_t count = 0;
    while (finding_rules[count]) count++;
    return count;
}

size_t hd_finding_code_count(void)
{
    return rule_count() + JOB_FINDINGS;
}

const hd_finding_code *hd_finding_code_at(size_t index)
{
    size_t rules = rule_count();
    if (index < rules) return &finding_rules[index]->about;
    return index - rules < JOB_FINDINGS ? &job_finding_codes[index - rules] : NULL;
}
