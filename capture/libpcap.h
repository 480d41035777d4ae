// What is called of libpcap. The library is loaded when it is first needed (see
// libpcap.go): the program begins without it and the ten libraries that it brings.

#include <pcap/pcap.h>

#define NETWHY_PCAP(F) \
	F(activate) F(breakloop) F(can_set_rfmon) F(close) F(compile) F(create) F(datalink) \
	F(dispatch) F(findalldevs) F(free_tstamp_types) F(freealldevs) F(freecode) \
	F(get_selectable_fd) F(geterr) F(list_tstamp_types) F(offline_filter) F(open_dead) \
	F(set_buffer_size) F(set_datalink) F(set_promisc) F(set_rfmon) F(set_snaplen) \
	F(set_timeout) F(set_tstamp_precision) F(set_tstamp_type) F(setfilter) F(setnonblock) \
	F(stats) F(tstamp_type_name_to_val) F(tstamp_type_val_to_name)

struct netwhy_pcap {
#define NETWHY_FIELD(name) __typeof__(&pcap_##name) name;
	NETWHY_PCAP(NETWHY_FIELD)
#undef NETWHY_FIELD
};

extern struct netwhy_pcap netwhy_pcap; // all NULL until it is loaded

// Go cannot call by a pointer.
static inline int netwhy_activate(pcap_t *p) { return netwhy_pcap.activate(p); }
static inline int netwhy_can_set_rfmon(pcap_t *p) { return netwhy_pcap.can_set_rfmon(p); }
static inline void netwhy_close(pcap_t *p) { netwhy_pcap.close(p); }
static inline int netwhy_compile(pcap_t *p, struct bpf_program *program, const char *text, int optimize, bpf_u_int32 mask) {
	return netwhy_pcap.compile(p, program, text, optimize, mask);
}
static inline pcap_t *netwhy_create(const char *device, char *fault) { return netwhy_pcap.create(device, fault); }
static inline int netwhy_datalink(pcap_t *p) { return netwhy_pcap.datalink(p); }
static inline int netwhy_findalldevs(pcap_if_t **list, char *fault) { return netwhy_pcap.findalldevs(list, fault); }
static inline void netwhy_free_tstamp_types(int *list) { netwhy_pcap.free_tstamp_types(list); }
static inline void netwhy_freealldevs(pcap_if_t *list) { netwhy_pcap.freealldevs(list); }
static inline void netwhy_freecode(struct bpf_program *program) { netwhy_pcap.freecode(program); }
static inline int netwhy_get_selectable_fd(pcap_t *p) { return netwhy_pcap.get_selectable_fd(p); }
static inline const char *netwhy_geterr(pcap_t *p) { return netwhy_pcap.geterr(p); }
static inline int netwhy_list_tstamp_types(pcap_t *p, int **list) { return netwhy_pcap.list_tstamp_types(p, list); }
static inline int netwhy_set_buffer_size(pcap_t *p, int bytes) { return netwhy_pcap.set_buffer_size(p, bytes); }
static inline int netwhy_set_datalink(pcap_t *p, int link) { return netwhy_pcap.set_datalink(p, link); }
static inline int netwhy_set_promisc(pcap_t *p, int on) { return netwhy_pcap.set_promisc(p, on); }
static inline int netwhy_set_rfmon(pcap_t *p, int on) { return netwhy_pcap.set_rfmon(p, on); }
static inline int netwhy_set_snaplen(pcap_t *p, int bytes) { return netwhy_pcap.set_snaplen(p, bytes); }
static inline int netwhy_set_timeout(pcap_t *p, int ms) { return netwhy_pcap.set_timeout(p, ms); }
static inline int netwhy_set_tstamp_precision(pcap_t *p, int precision) { return netwhy_pcap.set_tstamp_precision(p, precision); }
static inline int netwhy_set_tstamp_type(pcap_t *p, int type) { return netwhy_pcap.set_tstamp_type(p, type); }
static inline int netwhy_setfilter(pcap_t *p, struct bpf_program *program) { return netwhy_pcap.setfilter(p, program); }
static inline int netwhy_setnonblock(pcap_t *p, int on, char *fault) { return netwhy_pcap.setnonblock(p, on, fault); }
static inline int netwhy_stats(pcap_t *p, struct pcap_stat *s) { return netwhy_pcap.stats(p, s); }
static inline int netwhy_tstamp_type_name_to_val(const char *name) { return netwhy_pcap.tstamp_type_name_to_val(name); }
static inline const char *netwhy_tstamp_type_val_to_name(int type) { return netwhy_pcap.tstamp_type_val_to_name(type); }
