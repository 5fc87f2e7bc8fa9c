// SPDX-License-Identifier: GPL-2.0-only
#include "criu/sockets/socket_options.hpp"

#include <linux/filter.h>
#include <linux/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <array>
#include <climits>
#include <cstring>
#include <optional>
#include <span>
#include <vector>

#include "criu/base/error.hpp"
#include "criu/image/record.hpp"

namespace criu::sockets {

std::optional<int> findOption(KnownOptions known, int level, int option) noexcept {
    for (const KnownOption& one : known)
        if (one.level == level && one.option == option)
            return one.value;
    return std::nullopt;
}

namespace {

// Numbers of options that are newer than the headers of some systems.
constexpr int kTimestampNew = 63;    // SO_TIMESTAMP_NEW: 64-bit seconds for 32-bit programs
constexpr int kTimestampNsNew = 64;  // SO_TIMESTAMPNS_NEW
constexpr int kBufLock = 72;
constexpr int kReserveMemory = 73;
constexpr int kRcvMark = 75;
constexpr int kPassPidFd = 76;
constexpr int kRcvPriority = 82;
constexpr int kPassRights = 83;

enum class Dumped : std::uint8_t {
    Always,
    NonZero,      ///< stored only if the value isn't 0
    Credentials,  ///< stored only for families that send credentials with messages
    Never,        ///< never stored; restored from old images
};

/// Socket option of type int, with the functions that access its field in images.
struct IntOption {
    const char* name;
    int level;
    int option;
    Dumped dumped;
    void (*store)(SkOptsEntry&, int);
    std::optional<int> (*load)(const SkOptsEntry&);
};

template <auto Has, auto Value>
void store(SkOptsEntry& entry, int value) {
    entry.*Has = 1;
    entry.*Value = static_cast<std::remove_reference_t<decltype(entry.*Value)>>(value);
}

template <auto Has, auto Value>
void storeFlag(SkOptsEntry& entry, int value) {
    entry.*Has = 1;
    entry.*Value = value != 0;
}

template <auto Has, auto Value>
std::optional<int> load(const SkOptsEntry& entry) {
    return entry.*Has != 0 ? std::optional<int>(static_cast<int>(entry.*Value)) : std::nullopt;
}

#define CRIU_NUMBER(name, level, option, dumped, field)                                     \
    {                                                                                       \
        name, level, option, dumped, store<&SkOptsEntry::has_##field, &SkOptsEntry::field>, \
            load<&SkOptsEntry::has_##field, &SkOptsEntry::field>                            \
    }
#define CRIU_FLAG(name, option, dumped, field)                                                       \
    {                                                                                                \
        name, SOL_SOCKET, option, dumped, storeFlag<&SkOptsEntry::has_##field, &SkOptsEntry::field>, \
            load<&SkOptsEntry::has_##field, &SkOptsEntry::field>                                     \
    }

// A restore sets the buffer sizes, then the options in the order of this table. Setting a buffer size also sets the
// buffer's lock flag (SOCK_SNDBUF_LOCK), so SO_BUF_LOCK must restore the dumped flags afterwards.
constexpr IntOption kIntOptions[] = {
    CRIU_NUMBER("SO_BUF_LOCK", SOL_SOCKET, kBufLock, Dumped::Always, so_buf_lock),
    CRIU_NUMBER("SO_PRIORITY", SOL_SOCKET, SO_PRIORITY, Dumped::Always, so_priority),
    CRIU_NUMBER("SO_RCVLOWAT", SOL_SOCKET, SO_RCVLOWAT, Dumped::Always, so_rcvlowat),
    CRIU_NUMBER("SO_MARK", SOL_SOCKET, SO_MARK, Dumped::NonZero, so_mark),
    CRIU_FLAG("SO_REUSEADDR", SO_REUSEADDR, Dumped::Always, reuseaddr),
    CRIU_FLAG("SO_REUSEPORT", SO_REUSEPORT, Dumped::Always, so_reuseport),
    CRIU_FLAG("SO_PASSCRED", SO_PASSCRED, Dumped::Credentials, so_passcred),
    CRIU_FLAG("SO_PASSSEC", SO_PASSSEC, Dumped::Credentials, so_passsec),
    CRIU_FLAG("SO_DONTROUTE", SO_DONTROUTE, Dumped::Always, so_dontroute),
    CRIU_FLAG("SO_NO_CHECK", SO_NO_CHECK, Dumped::Always, so_no_check),
    CRIU_FLAG("SO_BROADCAST", SO_BROADCAST, Dumped::Always, so_broadcast),
    CRIU_FLAG("SO_KEEPALIVE", SO_KEEPALIVE, Dumped::Always, so_keepalive),
    CRIU_FLAG("SO_OOBINLINE", SO_OOBINLINE, Dumped::Always, so_oobinline),
    CRIU_NUMBER("TCP_KEEPCNT", IPPROTO_TCP, TCP_KEEPCNT, Dumped::Never, tcp_keepcnt),
    CRIU_NUMBER("TCP_KEEPIDLE", IPPROTO_TCP, TCP_KEEPIDLE, Dumped::Never, tcp_keepidle),
    CRIU_NUMBER("TCP_KEEPINTVL", IPPROTO_TCP, TCP_KEEPINTVL, Dumped::Never, tcp_keepintvl),
};

#undef CRIU_NUMBER
#undef CRIU_FLAG

/// Address families whose sockets have an option.
enum class Of : std::uint8_t {
    All,
    Credentials,  ///< only families that send credentials with messages
    NotInternet,  ///< all families except Internet; inet_options.cpp has this option for Internet sockets
};

/// Socket option for which images have no separate field. The dump stores the bytes of the value if the value differs
/// from that of a new socket.
struct MoreOption {
    const char* name;
    int option;
    int usual;  ///< value of a new socket; a number even for options of 8 bytes
    Of of = Of::All;
};

// A restore sets the options in the order of this table. SO_LOCK_FILTER comes after the filter, because the kernel
// refuses to change a locked filter.
constexpr MoreOption kMoreOptions[] = {
    {"SO_DEBUG", SO_DEBUG, 0},
    {"SO_TIMESTAMP", SO_TIMESTAMP, 0},
    {"SO_TIMESTAMPNS", SO_TIMESTAMPNS, 0},
    {"SO_TIMESTAMP_NEW", kTimestampNew, 0},
    {"SO_TIMESTAMPNS_NEW", kTimestampNsNew, 0},
    {"SO_RXQ_OVFL", SO_RXQ_OVFL, 0},
    {"SO_WIFI_STATUS", SO_WIFI_STATUS, 0},
    {"SO_PEEK_OFF", SO_PEEK_OFF, -1},
    {"SO_NOFCS", SO_NOFCS, 0},
    {"SO_SELECT_ERR_QUEUE", SO_SELECT_ERR_QUEUE, 0},
    {"SO_ZEROCOPY", SO_ZEROCOPY, 0},
    {"SO_RESERVE_MEM", kReserveMemory, 0},
    {"SO_RCVMARK", kRcvMark, 0},
    {"SO_PASSPIDFD", kPassPidFd, 0, Of::Credentials},
    {"SO_RCVPRIORITY", kRcvPriority, 0},
    {"SO_PASSRIGHTS", kPassRights, 1, Of::Credentials},
    {"SO_TIMESTAMPING", SO_TIMESTAMPING, 0, Of::NotInternet},
    {"SO_TIMESTAMPING_NEW", kTimestampingNew, 0, Of::NotInternet},
    {"SO_BUSY_POLL", SO_BUSY_POLL, 0, Of::NotInternet},
    {"SO_PREFER_BUSY_POLL", kPreferBusyPoll, 0, Of::NotInternet},
    {"SO_MAX_PACING_RATE", SO_MAX_PACING_RATE, -1, Of::NotInternet},
    {"SO_TXTIME", kTxTime, 0, Of::NotInternet},
    {"SO_LOCK_FILTER", SO_LOCK_FILTER, 0},
};

/// True if `code` is the error for an option that the kernel or the address family lacks.
bool unknownOption(int code) {
    return code == ENOPROTOOPT || code == EOPNOTSUPP;
}

template <typename T>
std::optional<T> read(int fd, int level, int option, const char* name) {
    T value{};
    socklen_t size = sizeof(value);
    if (::getsockopt(fd, level, option, &value, &size) == 0)
        return value;
    if (unknownOption(errno))
        return std::nullopt;
    failErrno("read socket option {}", name);
}

void write(int fd, int level, int option, const void* value, socklen_t size, const char* name, Log& log) {
    if (::setsockopt(fd, level, option, value, size) == 0)
        return;
    if (!unknownOption(errno))
        failErrno("set socket option {}", name);
    log.warn("This kernel doesn't know socket option {}, which the dumped socket had set", name);
}

/// Returns the value of an option: from `fresh`, or by getsockopt(2).
std::optional<int> valueNow(int fd, int level, int option, const char* name, KnownOptions fresh) {
    const std::optional<int> known = findOption(fresh, level, option);
    return known ? known : read<int>(fd, level, option, name);
}

void writeInt(int fd, int level, int option, int value, const char* name, KnownOptions fresh, Log& log) {
    if (valueNow(fd, level, option, name, fresh) != value)
        write(fd, level, option, &value, sizeof(value), name, log);
}

void forceBufferSize(int fd, int option, int force, int size, const char* name, const kernel::Usernsd* usernsd) {
    if (::setsockopt(fd, SOL_SOCKET, force, &size, sizeof(size)) == 0 ||
        (usernsd != nullptr && usernsd->setSocketOption(fd, force, size) == 0))
        return;
    // Fallback without CAP_NET_ADMIN: the kernel limits the size to a sysctl (net.core.rmem_max or wmem_max).
    sys(::setsockopt(fd, SOL_SOCKET, option, &size, sizeof(size)), "set socket option {}", name);
}

/// Sets the size of a buffer. `size`: value of getsockopt(2), which is twice the value that setsockopt(2) needs.
void writeBufferSize(int fd, int option, int force, std::uint32_t size, const char* name,
                     const kernel::Usernsd* usernsd, KnownOptions fresh) {
    constexpr int kDoubled = 2;
    if (valueNow(fd, SOL_SOCKET, option, name, fresh) == static_cast<int>(size))
        return;
    forceBufferSize(fd, option, force, static_cast<int>(size / kDoubled), name, usernsd);
}

/// Value of a KnownOption for a socket without a time limit.
constexpr int kNoLimit = 0;

void writeTimeLimit(int fd, int option, std::uint64_t seconds, std::uint64_t micros, const char* name,
                    KnownOptions fresh, Log& log) {
    if (seconds == 0 && micros == 0 && findOption(fresh, SOL_SOCKET, option) == kNoLimit)
        return;
    const timeval wanted{static_cast<time_t>(seconds), static_cast<suseconds_t>(micros)};
    const timeval now = read<timeval>(fd, SOL_SOCKET, option, name).value_or(timeval{});
    if (now.tv_sec != wanted.tv_sec || now.tv_usec != wanted.tv_usec)
        write(fd, SOL_SOCKET, option, &wanted, sizeof(wanted), name, log);
}

void dumpDevice(int fd, SkOptsEntry& out, Arena& arena) {
    char name[IFNAMSIZ] = {};
    socklen_t size = sizeof(name);
    if (::getsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, name, &size) != 0) {
        if (unknownOption(errno))
            return;
        failErrno("read socket option SO_BINDTODEVICE");
    }
    if (size > 0 && name[0] != '\0')
        out.so_bound_dev = arena.string(std::string_view(name, ::strnlen(name, sizeof(name))));
}

// Images store each BPF instruction as a 64-bit number: the fields code, jt, jf and k, from the highest bits to the
// lowest.
constexpr unsigned kCodeShift = 48;
constexpr unsigned kTrueShift = 40;
constexpr unsigned kFalseShift = 32;

void dumpFilter(int fd, SkOptsEntry& out, Arena& arena) {
    socklen_t count = 0;  // number of BPF instructions
    if (::getsockopt(fd, SOL_SOCKET, SO_GET_FILTER, nullptr, &count) != 0) {
        if (unknownOption(errno))
            return;
        Error error(errno, "read the filter of a socket");
        if (error.code() == EACCES)
            error.addHint("it is an extended BPF program, which can't be dumped");
        throw error;
    }
    if (count == 0)
        return;
    std::vector<sock_filter> filter(count);
    sys(::getsockopt(fd, SOL_SOCKET, SO_GET_FILTER, filter.data(), &count), "read the filter of a socket");
    out.n_so_filter = filter.size();
    out.so_filter = arena.array<std::uint64_t>(filter.size());
    for (std::size_t i = 0; i < filter.size(); ++i)
        out.so_filter[i] = static_cast<std::uint64_t>(filter[i].code) << kCodeShift |
                           static_cast<std::uint64_t>(filter[i].jt) << kTrueShift |
                           static_cast<std::uint64_t>(filter[i].jf) << kFalseShift | filter[i].k;
}

void restoreFilter(int fd, std::span<const std::uint64_t> image) {
    if (image.empty())
        return;
    if (image.size() > BPF_MAXINSNS)
        fail("the filter of a socket has {} instructions, more than {}", image.size(), BPF_MAXINSNS);
    std::vector<sock_filter> filter;
    for (const std::uint64_t one : image)
        filter.push_back({static_cast<std::uint16_t>(one >> kCodeShift), static_cast<std::uint8_t>(one >> kTrueShift),
                          static_cast<std::uint8_t>(one >> kFalseShift), static_cast<std::uint32_t>(one)});
    const sock_fprog program{static_cast<unsigned short>(filter.size()), filter.data()};
    sys(::setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program)), "attach the filter of a socket");
}

bool isOf(const MoreOption& row, int family) {
    if (row.of == Of::Credentials)
        return family == AF_UNIX || family == AF_NETLINK || family == AF_BLUETOOTH;
    return row.of == Of::All || (family != AF_INET && family != AF_INET6);
}

bool isUsual(const MoreOption& row, std::span<const std::byte> value) {
    std::int64_t number = 0;
    if (value.size() == sizeof(int)) {
        int narrow = 0;
        std::memcpy(&narrow, value.data(), sizeof(narrow));
        number = narrow;
    } else if (value.size() == sizeof(number)) {
        std::memcpy(&number, value.data(), sizeof(number));
    } else {
        fail("socket option {} has {} bytes", row.name, value.size());
    }
    return number == row.usual;
}

void dumpMore(int fd, int family, SkOptsEntry& out, Arena& arena) {
    out.more = arena.array<SkMoreOpt*>(std::size(kMoreOptions));
    for (const MoreOption& row : kMoreOptions) {
        if (!isOf(row, family))
            continue;
        std::array<std::byte, 2 * sizeof(std::int64_t)> room{};
        socklen_t size = room.size();
        if (::getsockopt(fd, SOL_SOCKET, row.option, room.data(), &size) != 0) {
            if (unknownOption(errno))
                continue;
            failErrno("read socket option {}", row.name);
        }
        const auto value = std::span(room).first(size);
        if (isUsual(row, value))
            continue;
        auto& more = *arena.make<SkMoreOpt>();
        more.level = SOL_SOCKET;
        more.name = static_cast<std::uint32_t>(row.option);
        more.value = arena.bytes(value);
        out.more[out.n_more++] = &more;
    }
}

void restoreMore(int fd, const SkOptsEntry& options, Log& log) {
    for (const MoreOption& row : kMoreOptions)
        for (const SkMoreOpt* const more : list(options.more, options.n_more))
            if (more->level == SOL_SOCKET && more->name == static_cast<std::uint32_t>(row.option))
                write(fd, SOL_SOCKET, row.option, more->value.data, static_cast<socklen_t>(more->value.len), row.name,
                      log);
}

}  // namespace

int readOption(int fd, int level, int option, const char* text) {
    int value = 0;
    socklen_t size = sizeof(value);
    sys(::getsockopt(fd, level, option, &value, &size), "read socket option {}", text);
    return value;
}

SkOptsEntry* dumpSocketOptions(int fd, int family, Arena& arena, KnownOptions known) {
    const auto number = [&](int level, int option, const char* name) {
        const std::optional<int> listed = findOption(known, level, option);
        return listed ? listed : read<int>(fd, level, option, name);
    };

    auto& out = *arena.make<SkOptsEntry>();
    const bool credentials = family == AF_UNIX || family == AF_NETLINK;
    for (const IntOption& row : kIntOptions) {
        if (row.dumped == Dumped::Never || (row.dumped == Dumped::Credentials && !credentials))
            continue;
        const std::optional<int> value = number(row.level, row.option, row.name);
        if (value && (*value != 0 || row.dumped != Dumped::NonZero))
            row.store(out, *value);
    }
    out.so_sndbuf = static_cast<std::uint32_t>(number(SOL_SOCKET, SO_SNDBUF, "SO_SNDBUF").value_or(0));
    out.so_rcvbuf = static_cast<std::uint32_t>(number(SOL_SOCKET, SO_RCVBUF, "SO_RCVBUF").value_or(0));
    const timeval send = read<timeval>(fd, SOL_SOCKET, SO_SNDTIMEO, "SO_SNDTIMEO").value_or(timeval{});
    out.so_snd_tmo_sec = static_cast<std::uint64_t>(send.tv_sec);
    out.so_snd_tmo_usec = static_cast<std::uint64_t>(send.tv_usec);
    const timeval receive = read<timeval>(fd, SOL_SOCKET, SO_RCVTIMEO, "SO_RCVTIMEO").value_or(timeval{});
    out.so_rcv_tmo_sec = static_cast<std::uint64_t>(receive.tv_sec);
    out.so_rcv_tmo_usec = static_cast<std::uint64_t>(receive.tv_usec);
    if (const auto wait = read<linger>(fd, SOL_SOCKET, SO_LINGER, "SO_LINGER"); wait && wait->l_onoff != 0) {
        out.has_so_linger = 1;
        out.so_linger = static_cast<std::uint32_t>(wait->l_linger);
    }
    dumpDevice(fd, out, arena);
    dumpFilter(fd, out, arena);
    dumpMore(fd, family, out, arena);
    return &out;
}

std::vector<KnownOption> readFreshSocket(int fd) {
    std::vector<KnownOption> values;
    const auto add = [&](int level, int option, std::optional<int> value) {
        if (value)
            values.push_back({level, option, *value});
    };
    for (const IntOption& row : kIntOptions)
        if (row.dumped != Dumped::Never && row.option != kBufLock)
            add(row.level, row.option, read<int>(fd, row.level, row.option, row.name));
    add(SOL_SOCKET, SO_RCVBUF, read<int>(fd, SOL_SOCKET, SO_RCVBUF, "SO_RCVBUF"));
    for (const int option : {SO_SNDTIMEO, SO_RCVTIMEO}) {
        const auto limit = read<timeval>(fd, SOL_SOCKET, option, "SO_SNDTIMEO or SO_RCVTIMEO");
        if (limit && limit->tv_sec == 0 && limit->tv_usec == 0)
            add(SOL_SOCKET, option, kNoLimit);
    }
    return values;
}

void restoreSocketOptions(int fd, const SkOptsEntry& options, Log& log, const kernel::Usernsd* usernsd,
                          KnownOptions fresh) {
    if (options.so_sndbuf != 0)
        writeBufferSize(fd, SO_SNDBUF, SO_SNDBUFFORCE, options.so_sndbuf, "SO_SNDBUF", usernsd, fresh);
    if (options.so_rcvbuf != 0)
        writeBufferSize(fd, SO_RCVBUF, SO_RCVBUFFORCE, options.so_rcvbuf, "SO_RCVBUF", usernsd, fresh);
    for (const IntOption& row : kIntOptions)
        if (const std::optional<int> value = row.load(options))
            writeInt(fd, row.level, row.option, *value, row.name, fresh, log);
    writeTimeLimit(fd, SO_SNDTIMEO, options.so_snd_tmo_sec, options.so_snd_tmo_usec, "SO_SNDTIMEO", fresh, log);
    writeTimeLimit(fd, SO_RCVTIMEO, options.so_rcv_tmo_sec, options.so_rcv_tmo_usec, "SO_RCVTIMEO", fresh, log);
    if (options.has_so_linger != 0) {
        const linger wait{1, static_cast<int>(options.so_linger)};
        write(fd, SOL_SOCKET, SO_LINGER, &wait, sizeof(wait), "SO_LINGER", log);
    }
    if (options.so_bound_dev != nullptr)
        write(fd, SOL_SOCKET, SO_BINDTODEVICE, options.so_bound_dev,
              static_cast<socklen_t>(std::strlen(options.so_bound_dev)), "SO_BINDTODEVICE", log);
    restoreFilter(fd, {options.so_filter, options.n_so_filter});
    restoreMore(fd, options, log);
}

void raiseSendBuffer(int fd, const kernel::Usernsd* usernsd) {
    forceBufferSize(fd, SO_SNDBUF, SO_SNDBUFFORCE, INT_MAX / 2, "SO_SNDBUF", usernsd);
}

void raiseBuffers(int fd, const kernel::Usernsd* usernsd) {
    raiseSendBuffer(fd, usernsd);
    forceBufferSize(fd, SO_RCVBUF, SO_RCVBUFFORCE, INT_MAX / 2, "SO_RCVBUF", usernsd);
}

void restoreDevice(int fd, const SkOptsEntry& options) {
    if (options.so_bound_dev != nullptr)
        sys(::setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, options.so_bound_dev,
                         static_cast<socklen_t>(std::strlen(options.so_bound_dev))),
            "bind a socket to device {}", options.so_bound_dev);
}

}  // namespace criu::sockets
