// SPDX-License-Identifier: GPL-2.0-only
#include "criu/options/request.hpp"

#include <catch2/catch.hpp>

#include <sched.h>

#include <algorithm>
#include <array>
#include <map>
#include <span>

#include "criu/kernel/proc/proc_ns.hpp"
#include "criu/model/page_codec.hpp"
#include "criu/options/config_file.hpp"
#include "criu/options/invocation.hpp"

using namespace criu;
using namespace criu::options;
using Catch::Matchers::Contains;
using Catch::Matchers::Equals;

namespace {

constexpr pid_t kClient = 321;

CriuOpts message() {
    CriuOpts opts = CRIU_OPTS__INIT;
    return opts;
}

model::Options optionsOf(const CriuOpts& opts, Command command = Command::Dump, bool inherited = true,
                         model::Options options = {}) {
    applyRequest({opts, command, kClient, inherited}, options);
    return options;
}

std::span<const ProtobufCFieldDescriptor> fields() {
    return {criu_opts__descriptor.fields, criu_opts__descriptor.n_fields};
}

const ProtobufCFieldDescriptor* fieldNamed(std::string_view name) {
    const auto all = fields();
    const auto found =
        std::find_if(all.begin(), all.end(), [&](const ProtobufCFieldDescriptor& field) { return field.name == name; });
    return found == all.end() ? nullptr : &*found;
}

}  // namespace

TEST_CASE("every field of a request belongs to one option, or is listed as the request's own") {
    std::map<std::string_view, int> owners;
    for (const OptionRow& row : optionTable())
        for (const std::string_view name : row.request.fields())
            if (!name.empty())
                ++owners[name];
    for (const RequestOnly& only : requestOnlyFields()) {
        ++owners[only.field];
        CHECK_FALSE(only.purpose.empty());
    }
    for (const ProtobufCFieldDescriptor& field : fields()) {
        CAPTURE(field.name);
        CHECK(owners[field.name] == 1);
    }
    for (const auto& [name, count] : owners) {
        CAPTURE(std::string(name), count);
        CHECK(fieldNamed(name) != nullptr);
    }
}

TEST_CASE("a field that is read as its option's argument is of a type that the argument can be written from") {
    unsigned looked = 0;
    for (const OptionRow& row : optionTable()) {
        const std::string_view name = row.request.fields().front();
        if (name.empty() || row.request.read() != nullptr)
            continue;
        ++looked;
        CAPTURE(std::string(row.name), std::string(name));
        CHECK(row.request.fields().back().empty());
        const ProtobufCFieldDescriptor* const field = fieldNamed(name);
        REQUIRE(field != nullptr);
        if (row.argument == Argument::None) {
            CHECK(field->type == PROTOBUF_C_TYPE_BOOL);
            CHECK(field->label == PROTOBUF_C_LABEL_OPTIONAL);
        } else {
            CHECK(row.argument == Argument::Required);
            const bool number = field->type == PROTOBUF_C_TYPE_INT32 || field->type == PROTOBUF_C_TYPE_UINT32 ||
                                field->type == PROTOBUF_C_TYPE_UINT64;
            CHECK((field->type == PROTOBUF_C_TYPE_STRING || number));
            if (number)
                CHECK(field->label == PROTOBUF_C_LABEL_OPTIONAL);
        }
    }
    CHECK(looked > 30);
}

TEST_CASE("each bool of a request is its option, or takes it back") {
    for (const OptionRow& row : optionTable()) {
        if (row.argument != Argument::None || row.request.fields().front().empty() || row.request.read() != nullptr)
            continue;
        CAPTURE(std::string(row.name));
        const ProtobufCFieldDescriptor* const field = fieldNamed(row.request.fields().front());
        REQUIRE(field != nullptr);
        for (const bool value : {true, false}) {
            CriuOpts opts = message();
            reinterpret_cast<protobuf_c_boolean*>(&opts)[field->quantifier_offset / sizeof(protobuf_c_boolean)] = 1;
            reinterpret_cast<protobuf_c_boolean*>(&opts)[field->offset / sizeof(protobuf_c_boolean)] = value ? 1 : 0;
            model::Options options;
            const std::vector<Setting> settings = applyRequest({opts, Command::Dump, kClient, true}, options);
            const auto said =
                std::find_if(settings.begin(), settings.end(), [&](const Setting& one) { return one.row == &row; });
            REQUIRE(said != settings.end());
            CHECK(said->negated == !value);
            CHECK(said->describe() == fmt::format("criu_opts.{}: {}{}", field->name, value ? "" : "no-", row.name));
        }
    }
    CriuOpts opts = message();
    model::Options before;
    before.tcpClose = before.externalSharing = before.lazyPages = true;
    before.finalState = model::FinalState::Running;
    opts.has_tcp_close = opts.has_ext_sharing = opts.has_lazy_pages = opts.has_leave_stopped = 1;
    const model::Options off = optionsOf(opts, Command::Dump, true, before);
    CHECK_FALSE(off.tcpClose);
    CHECK_FALSE(off.externalSharing);
    CHECK_FALSE(off.lazyPages);
    CHECK(off.finalState == model::FinalState::Running);
    opts.has_tls_no_cn_verify = opts.tls_no_cn_verify = 1;
    CHECK_FALSE(optionsOf(opts).tlsVerifyName);
}

TEST_CASE("what a request leaves out, or empty, stays as configuration files have it") {
    model::Options before;
    applySettings(parseConfigText("tcp-established\nroot /r\ntimeout 7\nlog-file x.log\nskip-mnt /a\ncpu-cap none\n"
                                  "verbosity=4\nmanage-cgroups full\nnetwork-lock skip\n",
                                  "f"),
                  before);
    CriuOpts opts = message();
    char none[] = "";
    opts.root = none;
    opts.log_file = none;
    const model::Options options = optionsOf(opts, Command::Restore, false, before);
    CHECK(options.tcpEstablished);
    CHECK(options.root == "/r");
    CHECK(options.timeout == std::chrono::seconds(7));
    CHECK(options.logFile == "x.log");
    CHECK(options.skipMounts == std::vector<std::string>{"/a"});
    CHECK(options.cpuCaps == model::CpuCaps{});
    CHECK(options.cgroupMode == model::CgroupMode::Full);
    CHECK(options.networkLock == model::NetworkLock::Skip);
    CHECK_FALSE(options.tree);
    // The default level applies.
    CHECK(options.verbosity == LogLevel::Warning);
}

TEST_CASE("texts, numbers and lists of a request are read as arguments are") {
    CriuOpts opts = message();
    char root[] = "/root";
    char one[] = "mnt[/x]:name";
    char two[] = "dev[1/2]:b";
    char* externals[] = {one, two};
    char systems[] = "tmpfs,all";
    char* list[] = {systems};
    opts.root = root;
    opts.has_timeout = opts.has_ghost_limit = 1;
    opts.timeout = 12;
    opts.ghost_limit = 4096;
    opts.n_external = 2;
    opts.external = externals;
    opts.n_enable_fs = 1;
    opts.enable_fs = list;
    const model::Options options = optionsOf(opts);
    CHECK(options.root == "/root");
    CHECK(options.timeout == std::chrono::seconds(12));
    CHECK(options.ghostLimit == 4096);
    REQUIRE(options.externals.size() == 2);
    CHECK(options.externals[1] == model::External{model::ExternalType::Device, "1/2", "b"});
    CHECK(options.enabledFilesystems == std::vector<std::string>{"tmpfs", "all"});

    char bad[] = "nonsense";
    externals[1] = bad;
    CHECK_THROWS_WITH(optionsOf(opts), Contains("criu_opts.external: external: 'nonsense' is not of the form"));
}

TEST_CASE("directories and logs of a client") {
    CriuOpts opts = message();
    opts.images_dir_fd = 5;
    opts.has_work_dir_fd = 1;
    opts.work_dir_fd = 6;
    const model::Options options = optionsOf(opts);
    CHECK(options.imagesDir == "/proc/321/fd/5");
    CHECK(options.workDir == "/proc/321/fd/6");
    CHECK(options.logFile == "criu.log");

    opts.images_dir_fd = -1;
    char path[] = "/images";
    opts.images_dir = path;
    opts.has_log_to_stderr = opts.log_to_stderr = 1;
    opts.log_level = 9;
    const model::Options named = optionsOf(opts);
    CHECK(named.imagesDir == "/images");
    CHECK(named.logFile.empty());
    CHECK(named.verbosity == LogLevel::Debug);

    char file[] = "my.log";
    opts.log_file = file;
    CHECK(optionsOf(opts).logFile == "my.log");
    char outside[] = "../my.log";
    opts.log_file = outside;
    CHECK_THROWS_WITH(optionsOf(opts), Contains("criu_opts.log_file: '../my.log' is a path"));
    opts.log_file = nullptr;
    opts.work_dir_fd = -1;
    CHECK_THROWS_WITH(optionsOf(opts), Equals("criu_opts.work_dir_fd: -1 is no descriptor"));
}

TEST_CASE("a client without a pid is dumped itself") {
    CriuOpts opts = message();
    CHECK(optionsOf(opts).tree == criu::HostPid(kClient));
    CHECK_FALSE(optionsOf(opts, Command::Restore).tree);
    opts.has_pid = 1;
    CHECK(optionsOf(opts).tree == criu::HostPid(kClient));
    opts.pid = 12;
    CHECK(optionsOf(opts, Command::PreDump).tree == criu::HostPid(12));
    opts.pid = -2;
    CHECK_THROWS_WITH(optionsOf(opts), Contains("-2 is no pid"));
}

TEST_CASE("final states: stopped counts more than running") {
    CriuOpts opts = message();
    opts.has_leave_running = opts.leave_running = 1;
    CHECK(optionsOf(opts).finalState == model::FinalState::Running);
    opts.has_leave_stopped = opts.leave_stopped = 1;
    CHECK(optionsOf(opts).finalState == model::FinalState::Stopped);
}

TEST_CASE("options for criu's process are refused to clients that haven't started it") {
    CriuOpts opts = message();
    InheritFd inherit = INHERIT_FD__INIT;
    char key[] = "pipe:[5]";
    inherit.key = key;
    inherit.fd = 3;
    InheritFd* inherits[] = {&inherit};
    opts.n_inherit_fd = 1;
    opts.inherit_fd = inherits;
    const model::Options options = optionsOf(opts);
    CHECK(options.inheritFds == std::vector<model::InheritFd>{{3, "pipe:[5]"}});
    CHECK_THROWS_WITH(optionsOf(opts, Command::Restore, false), Contains("criu_opts.inherit_fd: only a client"));

    CriuOpts sibling = message();
    sibling.has_rst_sibling = sibling.rst_sibling = 1;
    CHECK(optionsOf(sibling).restoreSibling);
    CHECK_THROWS_WITH(optionsOf(sibling, Command::Restore, false), Contains("criu_opts.rst_sibling: only a client"));

    CriuOpts pages = message();
    CriuPageServerInfo server = CRIU_PAGE_SERVER_INFO__INIT;
    char address[] = "10.0.0.1";
    server.address = address;
    server.has_port = server.has_fd = 1;
    server.port = 0x10000 + 77;
    server.fd = 9;
    pages.ps = &server;
    const model::Options remote = optionsOf(pages);
    CHECK(remote.pageServer);
    CHECK(remote.address == "10.0.0.1");
    CHECK(remote.port == 77);
    CHECK(remote.pageServerSocket == 9);
    CHECK_THROWS_WITH(optionsOf(pages, Command::Dump, false), Contains("criu_opts.ps: only a client"));
    pages.has_lazy_pages = pages.lazy_pages = 1;
    const model::Options lazy = optionsOf(pages, Command::Dump, false);
    CHECK_FALSE(lazy.pageServer);
    CHECK(lazy.port == 77);
    CHECK(lazy.address == "10.0.0.1");
    server.address = nullptr;
    CHECK(optionsOf(pages, Command::Dump, false).address == "127.0.0.1");
    pages.ps = nullptr;
    CHECK(optionsOf(pages, Command::Dump, false).address == "127.0.0.1");
    CHECK_FALSE(optionsOf(pages, Command::Restore, false).address);
}

TEST_CASE("messages within a request") {
    CriuOpts opts = message();
    ExtMountMap mount = EXT_MOUNT_MAP__INIT;
    char key[] = "/a:b";
    char value[] = "c:d";
    mount.key = key;
    mount.val = value;
    ExtMountMap* mounts[] = {&mount};
    opts.n_ext_mnt = 1;
    opts.ext_mnt = mounts;
    opts.has_auto_ext_mnt = opts.auto_ext_mnt = 1;
    CgroupRoot root = CGROUP_ROOT__INIT;
    root.path = key;
    CgroupRoot* roots[] = {&root};
    opts.n_cg_root = 1;
    opts.cg_root = roots;
    CriuVethPair pair = CRIU_VETH_PAIR__INIT;
    pair.if_in = key;
    pair.if_out = value;
    CriuVethPair* pairs[] = {&pair};
    opts.n_veths = 1;
    opts.veths = pairs;
    JoinNamespace join = JOIN_NAMESPACE__INIT;
    char kind[] = "user";
    char ids[] = "1,2";
    join.ns = kind;
    join.ns_file = key;
    join.extra_opt = ids;
    JoinNamespace* joins[] = {&join};
    opts.n_join_ns = 1;
    opts.join_ns = joins;
    UnixSk socket = UNIX_SK__INIT;
    socket.inode = 99;
    UnixSk* sockets[] = {&socket};
    opts.has_ext_unix_sk = opts.ext_unix_sk = 1;
    opts.n_unix_sk_ino = 1;
    opts.unix_sk_ino = sockets;
    char program[] = "prog";
    char* command[] = {program, key};
    opts.n_exec_cmd = 2;
    opts.exec_cmd = command;

    const model::Options options = optionsOf(opts);
    CHECK(options.extMounts == std::vector<model::ExtMount>{{"/a:b", "c:d"}});
    CHECK(options.autoExtMounts);
    CHECK(options.cgroupRoots == std::vector<model::CgroupRoot>{{"", "/a:b"}});
    CHECK(options.vethPairs == std::vector<model::VethPair>{{"/a:b", "c:d"}});
    CHECK(options.joinNs == std::vector<model::JoinNs>{{kernel::NamespaceKind::User, "/a:b", 1, 2}});
    CHECK(options.extUnixSockets);
    CHECK(options.extUnixInodes == std::vector<std::uint32_t>{99});
    CHECK(options.execCommandWanted);
    CHECK(options.execCommand == std::vector<std::string>{"prog", "/a:b"});
}

TEST_CASE("numbers with names of their own") {
    CriuOpts opts = message();
    opts.has_network_lock = opts.has_pre_dump_mode = opts.has_manage_cgroups = opts.has_empty_ns = 1;
    opts.has_cpu_cap = 1;
    opts.network_lock = CRIU_NETWORK_LOCK_METHOD__NFTABLES;
    opts.pre_dump_mode = CRIU_PRE_DUMP_MODE__VM_READ;
    opts.empty_ns = CLONE_NEWNET;
    opts.cpu_cap = 2;
    const model::Options options = optionsOf(opts);
    CHECK(options.networkLock == model::NetworkLock::Nftables);
    CHECK(options.preDumpMode == model::PreDumpMode::Read);
    CHECK(options.emptyNetNs);
    CHECK(options.cpuCaps == model::CpuCaps{model::CpuCap::Cpu, model::CpuCap::Image});
    CHECK(options.cgroupMode == model::CgroupMode::Ignore);

    opts.has_manage_cgroups_mode = 1;
    using enum model::CgroupMode;
    const std::pair<CriuCgMode, model::CgroupMode> modes[] = {
        {CRIU_CG_MODE__IGNORE, Ignore}, {CRIU_CG_MODE__CG_NONE, None}, {CRIU_CG_MODE__PROPS, Props},
        {CRIU_CG_MODE__SOFT, Soft},     {CRIU_CG_MODE__FULL, Full},    {CRIU_CG_MODE__STRICT, Strict},
        {CRIU_CG_MODE__DEFAULT, Soft}};
    for (const auto& [number, mode] : modes) {
        opts.manage_cgroups_mode = number;
        CHECK(optionsOf(opts).cgroupMode == mode);
    }
    opts.manage_cgroups_mode = static_cast<CriuCgMode>(77);
    CHECK_THROWS_WITH(optionsOf(opts), Equals("criu_opts.manage_cgroups: there is no mode 77"));
    opts.has_manage_cgroups_mode = 0;
    opts.empty_ns = CLONE_NEWNET | CLONE_NEWIPC;
    CHECK_THROWS_WITH(optionsOf(opts), Contains("criu_opts.empty_ns") && Contains("other namespaces"));
}

TEST_CASE("fields of CRIU's development after 4.2") {
    CriuOpts opts = message();
    opts.has_image_io_mode = 1;
    opts.image_io_mode = CRIU_IMAGE_IO_MODE__DIRECT;
    opts.has_compress = opts.compress = 1;
    opts.has_compress_acceleration = 1;
    opts.compress_acceleration = 7;
    opts.has_decompress_threads = 1;
    opts.decompress_threads = 3;
    model::Options options = optionsOf(opts);
    CHECK(options.imageIo == model::ImageIo::Direct);
    CHECK(options.compress == model::PageCodec::Lz4);
    CHECK(options.compressLevel == 7);
    CHECK(options.decompressThreads == 3);
    opts.compress = 0;
    CHECK(optionsOf(opts).compress == model::PageCodec::None);
    opts.has_compress = 0;
    opts.has_compress_region_size = 1;
    opts.compress_region_size = 64U << 10;
    CHECK(optionsOf(opts).compress == model::PageCodec::Lz4);
    CHECK(optionsOf(opts).compressBlock == 64U << 10);
    std::array pluginOptions{const_cast<char*>("cuda_plugin.device-map=GPU-1=GPU-2"),
                             const_cast<char*>("cuda_plugin.backend=auto")};
    opts.n_plugin_options = pluginOptions.size();
    opts.plugin_options = pluginOptions.data();
    CHECK(optionsOf(opts).gpuMap.size() == 1);
    opts.n_plugin_options = 0;
    opts.compress_region_size = 5;
    CHECK_THROWS_WITH(optionsOf(opts), Contains("criu_opts.compress"));
    opts.has_compress_region_size = 0;
    opts.image_io_mode = static_cast<CriuImageIoMode>(9);
    CHECK_THROWS_WITH(optionsOf(opts), Equals("criu_opts.image_io_mode: there is no mode 9"));
}

TEST_CASE("what a request wants but this build can't is refused with its field") {
    CriuOpts opts = message();
    opts.has_pid = 1;
    opts.pid = 5;
    opts.has_track_mem = opts.track_mem = 1;
    Invocation invocation;
    invocation.command = Command::Dump;
    invocation.settings = applyRequest({opts, Command::Dump, kClient, false}, invocation.options);
    const auto tracked = std::find_if(invocation.settings.begin(), invocation.settings.end(),
                                      [](const Setting& setting) { return setting.row->name == "track-mem"; });
    REQUIRE(tracked != invocation.settings.end());
    if (tracked->row->support == Support::Missing)
        CHECK_THROWS_WITH(validate(invocation, {}),
                          Equals("criu_opts.track_mem: track-mem is not supported by this build yet"));
    else
        CHECK_NOTHROW(validate(invocation, {}));
}

TEST_CASE("a client's wish for masters of terminals is an option, too") {
    CriuOpts opts = message();
    opts.has_orphan_pts_master = opts.orphan_pts_master = 1;
    CHECK(optionsOf(opts).orphanPtsMaster);
}
