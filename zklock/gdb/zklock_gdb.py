# SPDX-License-Identifier: Apache-2.0
"""Shows the locks of zklock in gdb, in a live process and in a core file.

    (gdb) source /usr/share/zklock/zklock_gdb.py
    (gdb) print -pretty -- client
    (gdb) zklock-owners

They print a Client, a Hold, an Owner, and a mutex or semaphore on one path. They only read memory, and call no function
of the program. They need the debug information of zklock. See zklock/guides/paged.md, "A process in gdb".

gdb runs all sourced files in one namespace, so the names begin with zk_.
"""
import gdb
import gdb.printing


# ---- The standard library -----------------------------------------------------------------------
# clang describes std::string in no object file. So some of these functions read the layout of libstdc++, which its ABI
# fixes. Each smart pointer begins with the address of the object.
def zk_at(value, type_, offset=0):
    return gdb.Value(int(value.address) + offset).cast(type_.pointer()).dereference()


def zk_argument(value, index=0):
    return value.type.strip_typedefs().template_argument(index)


def zk_pointee(pointer):
    """Returns the object of a unique_ptr or shared_ptr, or of a weak_ptr that has not expired; None if it is null."""
    address = zk_at(pointer, zk_argument(pointer).pointer())
    return address.dereference() if address else None


def zk_has_expired(weak):
    """The second word of a weak_ptr points to the block of counts, in which a pointer precedes the use count."""
    block = zk_at(weak, gdb.lookup_type("int").pointer(), 8)
    return not block or int((block + 2).dereference()) == 0


def zk_text(string):
    size = gdb.lookup_type("unsigned long")
    data, length = int(zk_at(string, size)), int(zk_at(string, size, 8))
    read = gdb.selected_inferior().read_memory(data, min(length, 1024)).tobytes() if length else b""
    return "".join(c if c.isprintable() else "?" for c in read.decode("utf-8", "replace"))


def zk_load(atomic):
    return zk_at(atomic, zk_argument(atomic))


def zk_mapped_values(unordered_map):
    table, found = unordered_map["_M_h"], []
    pair, node = zk_argument(table, 1), table["_M_before_begin"]["_M_nxt"]
    while node and len(found) < int(table["_M_element_count"]):
        found.append(zk_at(node.dereference(), pair, node.type.sizeof)["second"])
        node = node["_M_nxt"]
    return found


# ---- zklock -------------------------------------------------------------------------------------
def zk_enumerator(value):
    return str(value).split("::")[-1]


def zk_owner_text(owner):
    name = zk_pointee(owner["name_"])
    return f"{int(owner['process_']):016x}-{int(owner['serial_'])}" + (f" {zk_text(name)}" if name is not None else "")


def zk_state_of(record, context):
    """Returns what Hold::state() would return, as far as the memory shows it."""
    reason = int(zk_load(record["loss_reason_"]))
    if reason >= 0:
        return f"lost ({zk_enumerator(gdb.Value(reason).cast(gdb.lookup_type('zklock::LossReason')))})"
    if zk_load(record["over_"]):
        return "released"
    periods = zk_pointee(record["terms_"]["lease"]), record["limit_timer_"]["period_"]
    end = min(int(zk_load(period["valid_until_"])["__d"]["__r"]) for period in periods)
    if end == -2**63:
        return "lost (the lease or the maximum hold time has ended)"
    state = "held" if zk_load(context["keeper_"]["connected_"]) else "suspended"
    return f"{state}; lost if LeaseClock has passed {end / 1e9:.3f} s"


def zk_counts_of(contender, path_lock):
    """Returns the counts by their kind. The path lock has those of nested lock() calls."""
    # By its name, gdb can find the declaration in hold.h, which has no enumerators.
    kind = gdb.lookup_type("zklock::detail::PendingAcquire")["kind_"].type
    counts = contender["ownership_"]["counts_"]["_M_elems"]
    counts = {zk_enumerator(gdb.Value(i).cast(kind)): int(counts[i]) for i in range(4)}
    nested = path_lock["reentry_counter_"]
    record = zk_pointee(nested["record_"])
    if record is not None and record.address == zk_pointee(contender["record_"]).address:
        counts["lock"] += int(nested["count_"])
    return ", ".join(f"{kind} {count}" for kind, count in counts.items() if count)


def zk_contender_fields(contender):
    path_lock = zk_pointee(contender["path_"]).cast(gdb.lookup_type("zklock::detail::PathLock"))
    node, record = zk_pointee(contender["node_"]), zk_pointee(contender["record_"])
    machine, holding = node["fsm_"], zk_pointee(node["holding_"])
    name = zk_text(machine["node_"]["name_"]["text"])
    if holding is not None and zk_enumerator(holding["downgrade"]["state_"]) == "reader":
        name = zk_text(holding["downgrade"]["name_"])
    waits = zk_enumerator(contender["ownership_"]["state_"])
    yield "state", zk_state_of(record, zk_pointee(path_lock["context_"])) if record is not None else waits
    yield "owner", zk_owner_text(contender["reporter_"]["owner_"])
    yield "znode", f"{zk_text(path_lock['path_']['path_'])}/{name}" if name else "none yet"
    if record is None:
        yield "acquire_state", zk_enumerator(machine["state_"])
        return
    token = record["terms_"]["token"]
    yield "token", f"{int(token['zxid'])}.{int(token['grant_index'])}"
    yield "permits", str(int(record["terms_"]["permits"]))
    yield "counts", zk_counts_of(contender, path_lock)


def zk_path_lock_fields(path_lock):
    yield "path", zk_text(path_lock["path_"]["path_"])
    contenders = [zk_pointee(each) for each in zk_mapped_values(path_lock["contenders_"])]
    for each in sorted(contenders, key=lambda c: (int(c["ownership_"]["state_"]) == 0, int(c["key_"]["serial_"]))):
        yield zk_enumerator(each["ownership_"]["state_"]), each
    yield "other_clients", "not in this memory: see zklock ls"


def zk_client_fields(client):
    core = zk_pointee(client["core_"])
    keeper, locks = core["keeper_"], zk_mapped_values(core["path_locks_"])
    yield "servers", zk_text(zk_load(core["hosts_"]["present_"]).dereference())
    yield "session", f"{int(zk_load(keeper['session_id_'])) % 2**64:#x}"
    state = "connected" if zk_load(keeper["connected_"]) else "not connected"
    yield "state", "closed" if zk_load(core["closed_"]) else state
    locks = [zk_pointee(each) for each in locks if not zk_has_expired(each)]
    for each in sorted(locks, key=lambda lock: zk_text(lock["path_"]["path_"])):
        yield "lock", each


def zk_hold_fields(hold):
    contender = zk_pointee(hold["contender_"])
    if contender is None:
        yield "state", "empty: not acquired, or released"
        return
    yield "path", zk_text(zk_pointee(contender["path_"])["path_"]["path_"])
    yield from zk_contender_fields(contender)


def zk_handle_fields(lock_handle):
    return zk_path_lock_fields(zk_pointee(zk_pointee(lock_handle)["path_lock_"]))


ZK_READERS = {
    "Client": zk_client_fields,
    "Hold": zk_hold_fields,
    "Mutex": lambda mutex: zk_handle_fields(zk_pointee(mutex["state_"])["lock_handle"]),
    "(ReentrantMutex|SharedMutex|PriorityMutex|Semaphore)": lambda mutex: zk_handle_fields(mutex["lock_handle_"]),
    "Owner": zk_owner_text,
    "detail::Contender": zk_contender_fields,
    "detail::PathLock": zk_path_lock_fields,
}


class ZkPrinter:
    """Shows the text or the fields that `read` returns, up to the first error."""

    def __init__(self, value, read):
        self.shown, self.fields = None, []
        try:
            result = read(value.referenced_value() if value.type.code == gdb.TYPE_CODE_REF else value)
            if isinstance(result, str):
                self.shown = result
                return
            for field in result:
                self.fields.append(field)
        except Exception as error:
            self.shown = f"cannot read: {error} (is zklock built with -g, and is this file of its version?)"

    def to_string(self):
        return self.shown

    def children(self):
        return iter(self.fields)


class ZkOwners(gdb.Command):
    """Lists the threads that have an owner: each thread that has called lock() or acquire()."""

    def invoke(self, _arguments, _from_tty):
        serial = "*(unsigned long*)&'zklock::(anonymous namespace)::thread_serial'"
        shown = gdb.execute(f'thread apply all -ascending -q -s printf "thread %d: owner %lu\\n", $_thread, {serial}',
                            to_string=True).splitlines()
        shown = [line for line in shown if not line.endswith("owner 0")]
        print("\n".join(shown or ["cannot read: no thread has an owner, or gdb finds no thread-local variables"]))


def zk_register():
    ZkOwners("zklock-owners", gdb.COMMAND_DATA)
    printers = gdb.printing.RegexpCollectionPrettyPrinter("zklock")
    for name, read in ZK_READERS.items():
        printers.add_printer(name, f"^zklock::{name}$", lambda value, read=read: ZkPrinter(value, read))
    gdb.printing.register_pretty_printer(None, printers, replace=True)


zk_register()
