//go:build dpdk

#include "shim.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <rte_dev.h>
#include <rte_errno.h>
#include <rte_ethdev.h>

/* edx_probe attaches the device unless EAL's arguments already did, and finds
 * the Ethernet port that it made. */
int
edx_probe(const char *device, const char *name, uint16_t *port)
{
	uint8_t before[RTE_MAX_ETHPORTS] = {0};
	uint16_t id;
	int r;

	if (rte_eth_dev_get_port_by_name(name, port) == 0)
		return 0;
	RTE_ETH_FOREACH_DEV(id)
		before[id] = 1;
	r = rte_dev_probe(device);
	if (r < 0)
		return r;
	if (rte_eth_dev_get_port_by_name(name, port) == 0)
		return 0;
	RTE_ETH_FOREACH_DEV(id)
		if (!before[id]) {
			*port = id;
			return 0;
		}
	return -ENODEV;
}

int
edx_port_count(void)
{
	return rte_eth_dev_count_avail();
}

static uint16_t
min16(uint32_t a)
{
	return a > UINT16_MAX ? UINT16_MAX : a;
}

int
edx_info(uint16_t port, struct edx_info *o, const char **step)
{
	struct rte_eth_dev_info d;
	struct rte_ether_addr mac;
	int r;

	*step = "ask what the device can do";
	r = rte_eth_dev_info_get(port, &d);
	if (r < 0)
		return r;
	rte_eth_dev_get_name_by_port(port, o->name);
	snprintf(o->driver, sizeof(o->driver), "%s", d.driver_name ? d.driver_name : "");
	o->numa = rte_eth_dev_socket_id(port);
	if (rte_eth_macaddr_get(port, &mac) == 0)
		memcpy(o->mac, mac.addr_bytes, 6);
	o->max_rxq = d.max_rx_queues;
	o->max_txq = d.max_tx_queues;
	o->min_mtu = d.min_mtu;
	o->max_mtu = d.max_mtu;
	o->min_rx_buf = d.min_rx_bufsize;
	o->max_frame = d.max_rx_pktlen;
	rte_eth_dev_get_mtu(port, &o->mtu);
	o->reta = min16(d.reta_size);
	o->key_len = d.hash_key_size;
	o->rx_capa = d.rx_offload_capa;
	o->tx_capa = d.tx_offload_capa;
	o->rss_capa = d.flow_type_rss_offloads;
	return 0;
}

/* choose fills what the device can do of what was asked. */
static void
choose(struct rte_eth_conf *e, struct edx_conf *c, struct edx_info *o, uint16_t room)
{
	uint64_t rx = 0, tx = 0;
	uint32_t overhead = RTE_ETHER_HDR_LEN + RTE_ETHER_CRC_LEN + 2 * RTE_VLAN_HLEN;
	uint16_t mtu = c->mtu ? c->mtu : o->mtu;

	if (c->checksum)
		rx |= RTE_ETH_RX_OFFLOAD_CHECKSUM;
	if (c->vlan_strip)
		rx |= RTE_ETH_RX_OFFLOAD_VLAN_STRIP;
	if (mtu + overhead > (uint32_t)room - RTE_PKTMBUF_HEADROOM)
		rx |= RTE_ETH_RX_OFFLOAD_SCATTER;
	if (c->nrx > 1 && (c->rss_fields & o->rss_capa) != 0) {
		e->rxmode.mq_mode = RTE_ETH_MQ_RX_RSS;
		e->rx_adv_conf.rss_conf.rss_hf = c->rss_fields & o->rss_capa;
		if (c->key_len != 0) {
			e->rx_adv_conf.rss_conf.rss_key = c->key;
			e->rx_adv_conf.rss_conf.rss_key_len = c->key_len;
		}
		rx |= RTE_ETH_RX_OFFLOAD_RSS_HASH;
	}
	tx = RTE_ETH_TX_OFFLOAD_MULTI_SEGS | RTE_ETH_TX_OFFLOAD_VLAN_INSERT;
	if (c->tx_checksum)
		tx |= RTE_ETH_TX_OFFLOAD_IPV4_CKSUM | RTE_ETH_TX_OFFLOAD_UDP_CKSUM | RTE_ETH_TX_OFFLOAD_TCP_CKSUM;
	e->rxmode.offloads = o->rx_on = rx & o->rx_capa;
	e->txmode.offloads = o->tx_on = tx & o->tx_capa;
	e->rxmode.mtu = c->mtu;
	o->rss_on = e->rx_adv_conf.rss_conf.rss_hf;
}

static int
set_queues(uint16_t port, struct edx_conf *c, struct rte_mempool **pools, const struct edx_info *o,
	const struct rte_eth_conf *e, const char **step)
{
	struct rte_eth_dev_info d;
	struct rte_eth_rxconf rx;
	struct rte_eth_txconf tx;
	int r = rte_eth_dev_info_get(port, &d);

	if (r < 0)
		return r;
	rx = d.default_rxconf;
	rx.offloads = e->rxmode.offloads;
	tx = d.default_txconf;
	tx.offloads = e->txmode.offloads;
	*step = "set up a receive queue";
	for (uint16_t i = 0; i < c->nrx; i++)
		if ((r = rte_eth_rx_queue_setup(port, i, o->rx_desc, rte_eth_dev_socket_id(port), &rx, pools[i])) < 0)
			return r;
	*step = "set up a transmit queue";
	for (uint16_t i = 0; i < c->ntx; i++)
		if ((r = rte_eth_tx_queue_setup(port, i, o->tx_desc, rte_eth_dev_socket_id(port), &tx)) < 0)
			return r;
	return 0;
}

int
edx_configure(uint16_t port, struct edx_conf *c, struct rte_mempool **pools, struct edx_info *o, const char **step)
{
	struct rte_eth_conf e = {0};
	uint16_t room = rte_pktmbuf_data_room_size(pools[0]);
	int r = edx_info(port, o, step);

	if (r < 0)
		return r;
	choose(&e, c, o, room);
	*step = "configure";
	if ((r = rte_eth_dev_configure(port, c->nrx, c->ntx, &e)) < 0)
		return r;
	*step = "choose descriptors";
	o->rx_desc = c->rx_desc;
	o->tx_desc = c->tx_desc;
	if ((r = rte_eth_dev_adjust_nb_rx_tx_desc(port, &o->rx_desc, &o->tx_desc)) < 0)
		return r;
	if (c->mtu != 0) {
		*step = "set the MTU";
		r = rte_eth_dev_set_mtu(port, c->mtu);
		o->lacks_mtu = r == -ENOTSUP;
		if (r < 0 && r != -ENOTSUP)
			return r;
	}
	rte_eth_dev_get_mtu(port, &o->mtu);
	return set_queues(port, c, pools, o, &e, step);
}

int
edx_start(uint16_t port, const struct edx_conf *c, struct edx_info *o, const char **step)
{
	struct rte_ether_addr mac;
	int r;

	*step = "start";
	if ((r = rte_eth_dev_start(port)) < 0)
		return r;
	if (c->promiscuous) {
		*step = "set promiscuous";
		r = rte_eth_promiscuous_enable(port);
		o->lacks_promiscuous = r == -ENOTSUP;
		if (r < 0 && r != -ENOTSUP)
			return r;
	}
	if (rte_eth_macaddr_get(port, &mac) == 0)
		memcpy(o->mac, mac.addr_bytes, 6);
	rte_eth_dev_get_mtu(port, &o->mtu);
	return 0;
}

int
edx_reta(uint16_t port, const uint16_t *queues, uint16_t n)
{
	struct rte_eth_rss_reta_entry64 t[EDX_RETA / RTE_ETH_RETA_GROUP_SIZE] = {0};

	if (n > EDX_RETA)
		return -E2BIG;
	for (uint16_t i = 0; i < n; i++) {
		t[i / RTE_ETH_RETA_GROUP_SIZE].mask |= 1ULL << (i % RTE_ETH_RETA_GROUP_SIZE);
		t[i / RTE_ETH_RETA_GROUP_SIZE].reta[i % RTE_ETH_RETA_GROUP_SIZE] = queues[i];
	}
	return rte_eth_dev_rss_reta_update(port, t, n);
}

/* edx_close stops and closes the port and detaches its device, so that the same
 * device string can be opened again. */
int
edx_close(uint16_t port)
{
	struct rte_eth_dev_info d = {0};
	struct rte_device *dev = NULL;
	int r;

	if (rte_eth_dev_info_get(port, &d) == 0)
		dev = d.device;
	r = rte_eth_dev_stop(port);
	if (r < 0)
		return r;
	r = rte_eth_dev_close(port);
	if (r < 0)
		return r;
	return dev != NULL ? rte_dev_remove(dev) : 0;
}

int
edx_link(uint16_t port, struct edx_link *l)
{
	struct rte_eth_link k = {0};
	int r = rte_eth_link_get_nowait(port, &k);

	if (r < 0)
		return r;
	l->mbps = k.link_speed == RTE_ETH_SPEED_NUM_UNKNOWN ? 0 : k.link_speed;
	l->up = k.link_status;
	l->full_duplex = k.link_duplex;
	l->autoneg = k.link_autoneg;
	return 0;
}

/* edx_xstats returns the number of statistics, which may exceed cap. */
int
edx_xstats(uint16_t port, struct rte_eth_xstat_name *names, uint64_t *values, unsigned cap)
{
	struct rte_eth_xstat *x;
	int n = rte_eth_xstats_get(port, NULL, 0);

	if (n <= 0 || (unsigned)n > cap)
		return n;
	x = calloc(n, sizeof(*x));
	if (x == NULL)
		return -ENOMEM;
	n = rte_eth_xstats_get(port, x, n);
	if (n > 0 && rte_eth_xstats_get_names(port, names, n) == n)
		for (int i = 0; i < n; i++)
			values[x[i].id] = x[i].value;
	free(x);
	return n;
}
