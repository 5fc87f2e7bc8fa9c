// SPDX-License-Identifier: GPL-2.0-only
#include "criu/cli/arguments.hpp"

#include <catch2/catch.hpp>

#include "criu/base/loss.hpp"
#include "criu/model/page_codec.hpp"
#include "criu/options/invocation.hpp"
#include "plugins/cuda/options.hpp"

using namespace criu;
using namespace criu::cli;
using namespace criu::options;
using Catch::Matchers::Contains;
using Catch::Matchers::Equals;
using Words = std::vector<std::string>;

namespace {

model::Options optionsOf(const Words& words) {
    model::Options options;
    applySettings(readArguments(words).settings, options);
    return options;
}

Invocation validated(const Words& words) {
    Arguments arguments = readArguments(words);
    Invocation invocation;
    invocation.settings = std::move(arguments.settings);
    applySettings(invocation.settings, invocation.options);
    invocation.command = takeCommand(arguments.words);
    validate(invocation, std::move(arguments.words));
    return invocation;
}

}  // namespace

TEST_CASE("options stand anywhere among the words, until --") {
    const Arguments arguments =
        readArguments(Words{"restore", "-D", "dir", "--exec-cmd", "--", "prog", "-x", "--log-file"});
    CHECK(arguments.words == Words{"restore", "prog", "-x", "--log-file"});
    REQUIRE(arguments.settings.size() == 2);
    CHECK(arguments.settings[0].value == "dir");
    CHECK(arguments.settings[1].row->name == "exec-cmd");
}

TEST_CASE("values are attached or follow, short options come in bundles") {
    CHECK(optionsOf({"--images-dir=/a"}).imagesDir == "/a");
    CHECK(optionsOf({"--images-dir", "/a"}).imagesDir == "/a");
    CHECK(optionsOf({"-D/a"}).imagesDir == "/a");
    const model::Options bundle = optionsOf({"-sjdt", "12"});
    CHECK(bundle.finalState == model::FinalState::Stopped);
    CHECK(bundle.shellJob);
    CHECK(bundle.detached);
    CHECK(bundle.tree == criu::HostPid(12));
}

TEST_CASE("the many ways to set verbosity") {
    using enum LogLevel;
    CHECK(optionsOf({}).verbosity == Warning);
    CHECK(optionsOf({"-v"}).verbosity == Info);
    CHECK(optionsOf({"-vv"}).verbosity == Debug);
    CHECK(optionsOf({"-v", "-v"}).verbosity == Debug);
    CHECK(optionsOf({"-v0"}).verbosity == Message);
    CHECK(optionsOf({"-v4"}).verbosity == Debug);
    CHECK(optionsOf({"--verbosity"}).verbosity == Info);
    CHECK(optionsOf({"--verbosity=1"}).verbosity == LogLevel::Error);
    // With one dash: -v with the argument "erbosity=0", which isn't a number.
    CHECK(optionsOf({"--verbosity=4", "-verbosity=0"}).verbosity == Message);
    // Optional arguments must be attached.
    const Arguments apart = readArguments(Words{"-v", "4"});
    CHECK(apart.words == Words{"4"});
    CHECK_FALSE(apart.settings.front().value);
}

TEST_CASE("long names may be cut short while they are unambiguous") {
    CHECK(optionsOf({"--tcp-e"}).tcpEstablished);
    CHECK(optionsOf({"--shell"}).shellJob);
    CHECK(optionsOf({"--tls"}).tls);  // an exact name, though other names begin with it
    CHECK_THROWS_WITH(optionsOf({"--tcp-"}), Contains("ambiguous") && Contains("--tcp-established, --tcp-close"));
    CHECK_THROWS_WITH(optionsOf({"--log=x"}), Contains("ambiguous") && Contains("--log-file, --log-pid"));
}

TEST_CASE("no-forms take back, the last one counts") {
    CHECK_FALSE(optionsOf({"--tcp-close", "--no-tcp-close"}).tcpClose);
    CHECK(optionsOf({"--no-tcp-close", "--tcp-close"}).tcpClose);
    CHECK_FALSE(optionsOf({"--no-ghost-fiemap"}).ghostFiemap);
    CHECK_THROWS_WITH(optionsOf({"--no-leave-running"}), Contains("unknown option --no-leave-running"));
    CHECK_FALSE(optionsOf({"--tls-no-cn-verify"}).tlsVerifyName);
}

TEST_CASE("optional arguments and bare forms") {
    CHECK(optionsOf({"--manage-cgroups"}).cgroupMode == model::CgroupMode::Soft);
    CHECK(optionsOf({"--manage-cgroups=full"}).cgroupMode == model::CgroupMode::Full);
    CHECK(optionsOf({"--cpu-cap"}).cpuCaps.has(model::CpuCap::Cpu));
    CHECK(optionsOf({"-x12,13"}).extUnixInodes == std::vector<std::uint32_t>{12, 13});
    CHECK(optionsOf({"--ext-unix-sk"}).extUnixSockets);
}

TEST_CASE("mistakes are named with the option") {
    CHECK_THROWS_WITH(optionsOf({"--bogus=1"}), Equals("unknown option --bogus (criu --help lists all options)"));
    CHECK_THROWS_WITH(optionsOf({"-jQ"}), Equals("unknown option -Q (criu --help lists all options)"));
    CHECK_THROWS_WITH(optionsOf({"--tree"}), Equals("--tree needs an argument"));
    CHECK_THROWS_WITH(optionsOf({"-t"}), Equals("--tree needs an argument"));
    CHECK_THROWS_WITH(optionsOf({"--shell-job=1"}), Equals("--shell-job takes no argument"));
    CHECK_THROWS_WITH(optionsOf({"--no-shell-job=1"}), Equals("--no-shell-job takes no argument"));
    CHECK_THROWS_WITH(optionsOf({"-t0"}), Contains("--tree: 0 is out of range"));
    CHECK_THROWS_WITH(optionsOf({"--port", "65536"}), Contains("--port"));
    CHECK_THROWS_WITH(optionsOf({"--images-dir="}), Contains("--images-dir: an empty path"));
    CHECK_THROWS_WITH(optionsOf({"--ms"}), Contains("does not exist any more"));
}

TEST_CASE("repeated options are kept in order, the last of a single one counts") {
    const model::Options options =
        optionsOf({"--action-script", "a", "--action-script=b", "--skip-mnt", "/x", "-o", "1", "-o", "2"});
    CHECK(options.actionScripts == Words{"a", "b"});
    CHECK(options.skipMounts == Words{"/x"});
    CHECK(options.logFile == "2");
    const model::Options final = optionsOf({"-s", "-R"});
    CHECK(final.finalState == model::FinalState::Running);
}

TEST_CASE("pages that come later don't go with what moves them at once") {
    CHECK_NOTHROW(validated({"dump", "-t", "5", "--lazy-pages", "--port", "7"}));
    CHECK_THROWS_WITH(validated({"dump", "-t", "5", "--lazy-pages", "--page-server"}), Contains("can't be combined"));
    CHECK_THROWS_WITH(validated({"pre-dump", "-t", "5", "--lazy-pages"}), Contains("can't be combined"));
    CHECK_THROWS_WITH(validated({"lazy-pages", "--page-server"}), Contains("--address and --port"));
}

TEST_CASE("what encrypted and signed images don't go with is refused") {
    CHECK_NOTHROW(validated({"dump", "-t", "5", "--encrypt", "key", "--sign", "key", "--compress", "--checksum"}));
    CHECK_NOTHROW(validated({"dump", "-t", "5", "--encrypt", "key", "--stream-to", "-"}));
    CHECK_NOTHROW(validated({"restore", "--decrypt", "7", "--signed-by", "key", "--stream-from", "-"}));
    CHECK_THROWS_WITH(validated({"dump", "-t", "5", "--encrypt", "key", "--compat", "4.2"}), Contains("--compat 4.2"));
    for (const char* const name : {"--encrypt=key", "--sign=key"}) {
        for (const char* const other : {"--auto-dedup", "--stream"})
            CHECK_THROWS_WITH(validated({"dump", "-t", "5", name, other}), Contains("exclude each other"));
    }
    CHECK_THROWS_WITH(validated({"dump", "-t", "5", "--sign=key", "--page-server", "--tls"}),
                      Contains("doesn't sign its pages"));
    for (const char* const command : {"dump", "pre-dump"}) {
        CHECK_THROWS_WITH(validated({command, "-t", "5", "--encrypt=key", "--page-server"}), Contains("need --tls"));
        CHECK_NOTHROW(validated({command, "-t", "5", "--encrypt=key", "--page-server", "--tls"}));
    }
    CHECK_THROWS_WITH(validated({"page-server", "--encrypt=key"}), Contains("need --tls"));
    CHECK_NOTHROW(validated({"page-server", "--encrypt=key", "--ps-socket=7"}));
    CHECK_NOTHROW(validated({"page-server", "--encrypt=key", "--tls", "--prev-images-dir=../1"}));
    CHECK_THROWS_WITH(validated({"page-server", "--encrypt=key", "--tls", "--auto-dedup"}),
                      Contains("exclude each other"));
    CHECK_THROWS_WITH(validated({"page-server", "--encrypt=key", "--tls", "--lazy-pages"}), Contains("stores none"));
    CHECK_THROWS_WITH(validated({"dump", "-t", "5", "--sign=key", "--lazy-pages", "--tls"}), Contains("in no image"));
    CHECK_THROWS_WITH(validated({"dump", "-t", "5", "--encrypt=key", "--lazy-pages"}), Contains("need --tls"));
    CHECK_NOTHROW(validated({"dump", "-t", "5", "--encrypt=key", "--lazy-pages", "--tls"}));
    CHECK_NOTHROW(validated({"dump", "-t", "5", "--encrypt=key", "--lazy-pages", "--ps-socket=7"}));
    CHECK_THROWS_WITH(validated({"page-server", "--lazy-pages", "--decrypt=key"}), Contains("need --tls"));
    CHECK_NOTHROW(validated({"page-server", "--lazy-pages", "--decrypt=key", "--tls"}));
    for (const char* const name : {"--encrypt=key", "--sign=key"})
        for (const char* const other : {"--track-mem", "--prev-images-dir=../1"}) {
            CHECK_NOTHROW(validated({"dump", "-t", "5", name, other}));
            CHECK_NOTHROW(validated({"pre-dump", "-t", "5", name, other}));
        }
    CHECK_THROWS_WITH(validated({"pre-dump", "-t", "5", "--sign", "key", "--page-server"}),
                      Contains("exclude each other"));
    CHECK_THROWS_WITH(validated({"dump", "-t", "5", "--sign", "key", "--stream-to", "-"}), Contains("stream pack"));
    for (const char* const name : {"--decrypt=key", "--signed-by=key"}) {
        for (const char* const other : {"--auto-dedup", "--stream"})
            CHECK_THROWS_WITH(validated({"restore", name, other}), Contains("exclude each other"));
        CHECK_NOTHROW(validated({"restore", name, "--lazy-pages"}));
        CHECK_NOTHROW(validated({"lazy-pages", name}));
    }
    const Words remote{"lazy-pages", "--page-server", "--address=there", "--port=7", "--decrypt=key"};
    CHECK_NOTHROW(validated(remote));
    CHECK_THROWS_WITH(validated({"lazy-pages", "--page-server", "--address=there", "--port=7", "--signed-by=key"}),
                      Contains("has no signature"));
}

TEST_CASE("what can't go through a stream is refused with it") {
    CHECK_NOTHROW(validated({"dump", "-t", "5", "--stream-to", "-", "--compress"}));
    CHECK_NOTHROW(validated({"restore", "--stream-from", "-"}));
    CHECK_NOTHROW(validated({"cpuinfo", "dump", "--stream"}));
    CHECK_THROWS_WITH(validated({"dump", "-t", "5", "--stream", "--stream-to", "7"}), Contains("exclude each other"));
    for (const char* const name : {"--stream", "--stream-to=7"}) {
        for (const char* const other :
             {"--lazy-pages", "--auto-dedup", "--prev-images-dir=../1", "--page-server", "--pages-files=2"})
            CHECK_THROWS_WITH(validated({"dump", "-t", "5", name, other}), Contains("exclude each other"));
    }
    CHECK_THROWS_WITH(validated({"restore", "--stream", "--lazy-pages"}), Contains("exclude each other"));
    for (const char* other :
         {"--lazy-pages", "--auto-dedup", "--stream", "--stream-from=7", "--decrypt=key", "--signed-by=key"})
        CHECK_THROWS_WITH(validated({"restore", "--map-pages", other}), Contains("--map-pages and"));
    for (const char* other : {"--lazy-pages", "--signed-by=key"}) {
        CHECK_THROWS_WITH(validated({"restore", "--inherit-fd", "fd[7]:extmem-provider", other}),
                          Contains("an external memory provider and"));
        CHECK_THROWS_WITH(validated({"restore", "--provider-socket=at", other}),
                          Contains("an external memory provider and"));
    }
    CHECK_NOTHROW(validated({"restore", "--provider-socket=at", "--map-pages"}));
    CHECK_THROWS_WITH(validated({"restore", "--provider-socket=at", "--inherit-fd", "fd[7]:extmem-provider"}),
                      Contains("there is one socket"));
    CHECK_THROWS_WITH(validated({"memory-provider"}), Contains("memory-provider needs --provider-socket"));
    CHECK_THROWS_WITH(validated({"memory-provider", "--provider-socket=at", "--inherit-fd", "fd[7]:pod"}),
                      Contains("no other use for --inherit-fd"));
    CHECK_NOTHROW(validated({"memory-provider", "--inherit-fd", "fd[7]:extmem-provider", "--decrypt=key"}));
    CHECK_THROWS_WITH(validated({"dump", "-t", "5", "--provider-socket=at"}), Contains("--provider-socket"));
    CHECK_NOTHROW(validated({"restore", "--inherit-fd", "fd[7]:extmem-provider", "--decrypt=key"}));
    CHECK_NOTHROW(validated({"restore", "--map-pages", "--new-pidns", "-d"}));
    CHECK_THROWS_WITH(validated({"restore", "-d", "--restore-sibling", "--new-pidns"}), Contains("exclude each other"));
    CHECK_THROWS_WITH(validated({"dedup", "--stream"}), Contains("not for dedup"));
    CHECK_THROWS_WITH(validated({"dump", "-t", "5", "--stream-to", "-", "-o", "-"}), Contains("standard output"));
    CHECK_THROWS_WITH(validated({"stream"}), Contains("pack or unpack"));
}

TEST_CASE("options of today's callers are accepted") {
    const auto nvsnap = validated({"dump",
                                   "-t",
                                   "5",
                                   "-D",
                                   "/criu-images",
                                   "-o",
                                   "dump.log",
                                   "-v4",
                                   "--shell-job",
                                   "--tcp-established",
                                   "--ext-unix-sk",
                                   "--link-remap",
                                   "--ghost-links",
                                   "--ghost-limit",
                                   "1073741824",
                                   "--libdir",
                                   "/criu-bundle/bin",
                                   "--skip-in-flight",
                                   "--network-lock",
                                   "nftables",
                                   "--manage-cgroups=ignore",
                                   "--timeout",
                                   "1200",
                                   "--file-locks",
                                   "--compress-region",
                                   "4M",
                                   "--external",
                                   "dev[195/0]:nvidia0"});
    CHECK(nvsnap.options.ghostLinks);
    CHECK(nvsnap.options.compress == criu::model::PageCodec::Lz4);
    CHECK(nvsnap.options.compressBlock == 1U << 20);
    const auto coldsnap = validated({"dump", "-t", "5", "--decompress-threads", "2", "--image-io-mode", "direct",
                                     "--compress-block-size", "262144", "--compress-acceleration", "9"});
    CHECK(coldsnap.options.imageIo == criu::model::ImageIo::Direct);
    CHECK(coldsnap.options.compress == criu::model::PageCodec::Lz4);
    CHECK(coldsnap.options.compressBlock == 256U << 10);
    CHECK(coldsnap.options.compressLevel == 9);
    CHECK(validated({"restore", "--decompress-threads", "0"}).options.decompressThreads == 0);
    CHECK(validated({"restore", "--decompress-threads=7"}).options.decompressThreads == 7);
    CHECK_THROWS_WITH(validated({"restore", "--decompress-threads=1025"}), Contains("out of range"));
    CHECK_THROWS_WITH(validated({"restore", "--image-io-mode", "async"}), Contains("writeback, direct"));
    CHECK(validated({"restore", "--lsm-mount-context", "system_u:object_r:container_file_t:s0:c1,c2"})
              .options.lsmMountContext);
    CHECK_NOTHROW(validated({"check", "--unprivileged"}));
    CHECK(validated({"dump", "-t", "5", "--unprivileged"}).options.unprivileged);
    CHECK(validated({"dump", "-t", "5", "--allow-uprobes"}).options.allowUprobes);
    CHECK(validated({"restore", "--allow-uprobes"}).options.allowUprobes);
}

TEST_CASE("options of CRIU's CUDA plugin set those of the built-in support") {
    const auto dump = validated({"dump", "-t", "5", "--plugin-option", "cuda_plugin.backend=driver-api",
                                 "--plugin-option=cuda_plugin.timeout=600"});
    CHECK(cuda::timeoutOf(dump.options) == std::chrono::seconds(600));
    CHECK(cuda::timeoutOf(validated({"dump", "-t", "5", "--plugin-option=cuda_plugin.timeout=0"}).options) >
          std::chrono::hours(1));
    const auto restore = validated({"restore", "--plugin-option", "cuda_plugin.device-map=0=1,1=0"});
    REQUIRE(restore.options.gpuMap.size() == 2);
    CHECK(restore.options.gpuMap[1] == criu::model::GpuMapping{"1", "0"});
    CHECK(validated({"restore", "--plugin-option", "cuda_plugin.device-map=auto"}).options.gpuMap.empty());
    const auto refused = [](const char* option, const char* text) {
        CHECK_THROWS_WITH(validated({"dump", "-t", "5", "--plugin-option", option}), Contains(text));
    };
    refused("cuda_plugin.backend=magic", "auto, driver-api, cuda-checkpoint");
    refused("cuda_plugin.timeout=soon", "not a number");
    refused("cuda_plugin.timeout", "NAME=VALUE");
    refused("cuda_plugin.colour=red", "cuda_plugin has no such option");
    refused("backend=auto", "'backend=auto' is not of the form PLUGIN.NAME=VALUE");
    refused(".backend", "PLUGIN.NAME=VALUE");
    refused("tpu_plugin.=auto", "PLUGIN.NAME=VALUE");
    refused("cuda_plugin.device-map=0=1", "for restore only");
}

TEST_CASE("options of plugins stay in their order") {
    const auto dump = validated({"dump", "-t", "5", "--plugin-option", "tpu_plugin.backend=a=b", "--plugin-option",
                                 "cuda_plugin.timeout=600", "--plugin-option=tpu_plugin.flag"});
    CHECK(dump.options.pluginOptions ==
          std::vector<std::string>{"tpu_plugin.backend=a=b", "cuda_plugin.timeout=600", "tpu_plugin.flag"});
}

TEST_CASE("addresses of --inet-map") {
    const auto mapping = [](const char* text) {
        return validated({"restore", "--inet-map", text}).options.inetMap.front();
    };
    CHECK(mapping("10.0.0.5=10.0.0.9").bits == 32);
    CHECK(mapping("10.0.0.0/8=192.0.0.0/8").bits == 8);
    CHECK(mapping("fd00::1=fd00::2").bits == 128);
    CHECK_THROWS_WITH(mapping("10.0.0.5"), Contains("OLD=NEW"));
    CHECK_THROWS_WITH(mapping("10.0.0.5=fd00::1"), Contains("IPv4, the other of IPv6"));
    CHECK_THROWS_WITH(mapping("10.0.0.0/8=10.0.0.0/16"), Contains("8 and 16 bits"));
    CHECK_THROWS_WITH(mapping("10.0.0.0/33=10.0.0.0/33"), Contains("out of range"));
    CHECK_THROWS_WITH(mapping("here=there"), Contains("no IP address"));
}

TEST_CASE("options of other commands are accepted and pointed out") {
    const Invocation dump = validated({"dump", "-t5", "--pidfile", "p", "--root", "/", "-j"});
    const auto idle = withoutEffect(dump.settings, dump.command);
    REQUIRE(idle.size() == 1);
    CHECK(idle.front()->row->name == "pidfile");
}

TEST_CASE("an option that asks for something is refused by commands that don't use it") {
    CHECK_THROWS_WITH(validated({"dump", "-t5", "--new-pidns"}),
                      Equals("--new-pidns is for restore, explain, not for dump"));
    CHECK_THROWS_WITH(validated({"restore", "--leave-running"}), Contains("is for dump, not for restore"));
    CHECK_THROWS_WITH(validated({"check", "--tree", "5"}), Contains("is for dump, pre-dump, compare, not for check"));
    // vLLM gives the same options to both.
    for (const Words& words : {Words{"dump", "-t5"}, Words{"restore"}}) {
        Words all = words;
        for (const char* const option : {"-L", "/plugins", "--shell-job", "--ext-unix-sk", "--tcp-established",
                                         "--link-remap", "--file-locks", "--skip-in-flight", "--ghost-limit", "1G"})
            all.emplace_back(option);
        CHECK_NOTHROW(validated(all));
    }
    CHECK_NOTHROW(validated({"swrk", "3", "--tcp-established"}));
}

TEST_CASE("mistyped words are told what they may mean") {
    CHECK_THROWS_WITH(validated({"dmup"}), Contains("unknown command 'dmup'; did you mean dump?"));
    CHECK_THROWS_WITH(validated({"dump", "--tcp-establishd"}), Contains("did you mean --tcp-established?"));
    CHECK_THROWS_WITH(validated({"dump", "--shell-jbo"}), Contains("did you mean --shell-job?"));
    CHECK_THROWS_WITH(validated({"dump", "--colour"}),
                      Equals("unknown option --colour (criu --help lists all options)"));
}

TEST_CASE("commands and words") {
    CHECK(validated({"check"}).command == Command::Check);
    CHECK_THROWS_WITH(validated({}), Contains("no command given"));
    CHECK_THROWS_WITH(validated({"dmup"}), Contains("unknown command 'dmup'"));
    CHECK_THROWS_WITH(validated({"cpuinfo"}), Contains("needs an action"));
    CHECK_THROWS_WITH(validated({"dump", "-t5", "more"}), Contains("more"));
    CHECK_THROWS_WITH(validated({"dump"}), Contains("-t PID"));
    CHECK_THROWS_WITH(validated({"restore", "-S"}), Contains("needs --restore-detached"));
    CHECK_NOTHROW(validated({"restore", "-S", "-d"}));
    CHECK_THROWS_WITH(validated({"dump", "-t5", "--inherit-fd", "fd[3]:a"}), Contains("restore only"));
    CHECK(validated({"restore", "--exec-cmd", "--", "prog", "-v"}).options.execCommand == Words{"prog", "-v"});
    CHECK_THROWS_WITH(validated({"restore", "--exec-cmd"}), Contains("behind --"));
    CHECK_THROWS_WITH(validated({"restore", "-d", "--exec-cmd", "--", "prog"}), Contains("exclude each other"));
    CHECK_THROWS_WITH(validated({"dump", "-t5", "--exec-cmd", "--", "prog"}), Contains("restore only"));
}

TEST_CASE("--allow-loss has two meanings") {
    const auto bit = [](Loss kind) { return LossSet().set(static_cast<std::size_t>(kind)); };
    const model::Options bare = optionsOf({"--allow-loss"});
    CHECK((bare.allowLoss && bare.allowedLosses.none()));
    const model::Options kinds = optionsOf({"--allow-loss=keys", "--allow-loss=mounts"});
    CHECK((!kinds.allowLoss && kinds.allowedLosses == (bit(Loss::Keys) | bit(Loss::Mounts))));
    CHECK(optionsOf({"--allow-loss=all"}).allowedLosses.all());
    CHECK(optionsOf({"--allow-loss=all", "--no-allow-loss", "--allow-loss=keys"}).allowedLosses == bit(Loss::Keys));
    CHECK_FALSE(optionsOf({"--allow-loss", "--no-allow-loss"}).allowLoss);
    CHECK_THROWS_WITH(optionsOf({"--allow-loss=key"}),
                      Contains("unknown kind of loss 'key', use one of: all, datagrams, packets"));
    CHECK(optionsOf({"--no-loss"}).noLoss);
    for (const char* const command : {"restore", "pre-dump"})
        CHECK_THROWS_WITH(validated({command, "-t", "5", "--no-loss"}), Contains("--no-loss is for dump, not for "));
}

TEST_CASE("--untrusted takes a range of ids without 0") {
    CHECK(optionsOf({"--untrusted", "100000-165535"}).untrusted == model::IdRange{100000, 165535});
    CHECK(optionsOf({"--untrusted", "5-5"}).untrusted == model::IdRange{5, 5});
    for (const char* const wrong : {"0-10", "10", "10-9", "10-4294967295", "a-b", "1-", "-1"})
        CHECK_THROWS_AS(optionsOf({"--untrusted", wrong}), Error);
}

TEST_CASE("--untrusted excludes options that reach out of the tree") {
    const Words usual{"restore", "--untrusted", "5-6"};
    const auto with = [&](const Words& more) {
        Words words = usual;
        words.insert(words.end(), more.begin(), more.end());
        return validated(words);
    };
    CHECK(with({}).options.cgroupMode == model::CgroupMode::Ignore);
    CHECK(with({"--manage-cgroups=ignore"}).options.cgroupMode == model::CgroupMode::Ignore);
    CHECK(with({"--no-shell-job"}).options.untrusted);
    CHECK_THROWS_WITH(with({"--manage-cgroups=soft"}), Contains("--manage-cgroups=ignore"));
    CHECK_THROWS_WITH(with({"--external", "mnt[]"}), Contains("name each mount"));
    CHECK_THROWS_WITH(with({"--ext-mount-map", "auto"}), Contains("name each mount"));
    for (const Words& words :
         {Words{"--shell-job"}, Words{"--join-ns", "net:/x"}, Words{"--cgroup-root", "/x"},
          Words{"--cgroup-props", "x"}, Words{"--cgroup-props-file", "x"}, Words{"--cgroup-yard", "/x"},
          Words{"--auto-dedup"}, Words{"--map-pages"}, Words{"--lazy-pages"}, Words{"--enable-fs", "all"}})
        CHECK_THROWS_WITH(with(words), Contains(words.front()) && Contains("reaches out of the tree"));
}
