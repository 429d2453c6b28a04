//go:build dpdk

#include "shim.h"
#include <errno.h>
#include <rte_errno.h>
#include <rte_hash.h>
#include <rte_hash_crc.h>
#include <rte_lcore.h>

void *
edx_hash(const char *name, unsigned entries, unsigned key, int lock_free, int *err)
{
	struct rte_hash_parameters p = {
		.name = name, .entries = entries, .key_len = key, .hash_func = rte_hash_crc,
		.socket_id = (int)rte_socket_id(),
		.extra_flag = lock_free ? RTE_HASH_EXTRA_FLAGS_RW_CONCURRENCY_LF : 0,
	};
	struct rte_hash *h;

	/* Without extendable buckets a crowded table refuses keys early. */
	p.extra_flag |= RTE_HASH_EXTRA_FLAGS_EXT_TABLE;
	h = rte_hash_create(&p);
	*err = h == NULL ? -rte_errno : 0;
	return h;
}

unsigned
edx_hash_add(void *h, const uint8_t *keys, unsigned key, unsigned n)
{
	unsigned i;

	for (i = 0; i < n; i++)
		if (rte_hash_add_key_data(h, keys + (size_t)i * key, (void *)(uintptr_t)(i + 1)) < 0)
			break;
	return i;
}

unsigned
edx_hash_del(void *h, const uint8_t *keys, unsigned key, unsigned n, int lock_free)
{
	unsigned i, done = 0;
	int32_t at;

	for (i = 0; i < n; i++) {
		at = rte_hash_del_key(h, keys + (size_t)i * key);
		if (at < 0)
			continue;
		done++;
		/* Lock-free tables keep the key's place until told that readers are done. */
		if (lock_free)
			rte_hash_free_key_with_position(h, at);
	}
	return done;
}

unsigned
edx_hash_find(void *h, const uint8_t *keys, unsigned key, unsigned n)
{
	const void *k[64];
	void *data[64];
	unsigned i, j, m, hits = 0;
	uint64_t mask;

	for (i = 0; i < n; i += m) {
		m = n - i < 64 ? n - i : 64;
		for (j = 0; j < m; j++)
			k[j] = keys + (size_t)(i + j) * key;
		mask = 0;
		rte_hash_lookup_bulk_data(h, k, m, &mask, data);
		hits += __builtin_popcountll(mask);
	}
	return hits;
}

void
edx_hash_free(void *h)
{
	rte_hash_free(h);
}
