//go:build dpdk

#include "shim.h"
#include <stdlib.h>
#include <rte_version.h>

extern int edemuxTelemetry(char *cmd, char *params, struct rte_tel_data *d);

static int
answer(const char *cmd, const char *params, struct rte_tel_data *d)
{
	return edemuxTelemetry((char *)cmd, (char *)(params ? params : ""), d);
}

int
edx_tel_register(const char *path, const char *help)
{
	return rte_telemetry_register_cmd(path, answer, help);
}

/* 23.03 renamed u64 to uint. */
#if RTE_VERSION >= RTE_VERSION_NUM(23, 3, 0, 0)
#define TEL_DICT rte_tel_data_add_dict_uint
#define TEL_ARRAY rte_tel_data_add_array_uint
#define TEL_TYPE RTE_TEL_UINT_VAL
#else
#define TEL_DICT rte_tel_data_add_dict_u64
#define TEL_ARRAY rte_tel_data_add_array_u64
#define TEL_TYPE RTE_TEL_U64_VAL
#endif

int
edx_tel_u64(struct rte_tel_data *d, const char *name, uint64_t v)
{
	return TEL_DICT(d, name, v);
}

int
edx_tel_array_u64(struct rte_tel_data *d, uint64_t v)
{
	return TEL_ARRAY(d, v);
}

int
edx_tel_start_u64(struct rte_tel_data *d)
{
	return rte_tel_data_start_array(d, TEL_TYPE);
}

int
edx_tel_start_string(struct rte_tel_data *d)
{
	return rte_tel_data_start_array(d, RTE_TEL_STRING_VAL);
}
