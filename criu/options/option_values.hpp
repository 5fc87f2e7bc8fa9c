// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "criu/model/options.hpp"

/// Parsers of option arguments. All throw Error, with the defect and the allowed values.
namespace criu::options {

/// Parses a decimal number from `least` to `most` without other characters.
std::int64_t parseNumber(std::string_view text, std::int64_t least, std::int64_t most);

/// Parses bytes: a decimal number, optionally with K, M or G (powers of 1024, either case).
std::uint64_t parseSize(std::string_view text);

/// Returns the level after --verbosity or -v[v…|NUMBER]. No text adds one to the present level. Each "v" adds one
/// more. Other text is a number, or 0 if it isn't one. The maximum is Debug.
LogLevel parseVerbosity(std::optional<std::string_view> text, LogLevel present);

/// Applies a list of fpu, cpu, ins, all and none to `caps`. A prefix ^ removes a capability. Sets Image unless the
/// result is empty.
model::CpuCaps parseCpuCaps(std::string_view text, model::CpuCaps caps);

model::CgroupMode parseCgroupMode(std::string_view text);
model::NetworkLock parseNetworkLock(std::string_view text);
model::PreDumpMode parsePreDumpMode(std::string_view text);
model::PageCodec parsePageCodec(std::string_view text);
/// Parses a multiple of the page size, up to the largest block that readers accept.
std::uint64_t parseCompressBlock(std::string_view text);
model::ImageIo parseImageIo(std::string_view text);
model::FileValidation parseFileValidation(std::string_view text);
model::LsmProfile parseLsmProfile(std::string_view text);
model::JoinNs parseJoinNs(std::string_view text);
/// Makes the same from parts, for requests. `ids` is UID,GID or absent.
model::JoinNs makeJoinNs(std::string_view kind, std::string_view target, std::optional<std::string_view> ids);
model::InetMapping parseInetMapping(std::string_view text);
model::CgroupRoot parseCgroupRoot(std::string_view text);

/// Parses TYPE[ID][:VALUE]. Throws Error for types that aren't built.
model::External parseExternal(std::string_view text);
/// Parses an external resource and adds it to the options. Ignores texts that clients send by mistake.
void addExternal(std::string_view text, model::Options& options);

/// Parses fd[N]:NAME or debug[N]:TEXT and adds it to the corresponding list.
void parseInheritFd(std::string_view text, model::Options& options);

/// Adds to options.inheritFds. Throws Error if the name is empty or exists.
void addInheritFd(model::InheritFd inherit, model::Options& options);

/// Parses KEY:VALUE or "auto".
void parseExtMount(std::string_view text, model::Options& options);

/// Parses inodes of sockets: INO[,INO…].
std::vector<std::uint32_t> parseInodes(std::string_view text);

/// Parses A,B,C. Drops empty items.
std::vector<std::string> parseList(std::string_view text);

/// Splits text at the first `separator`. Throws Error if there is none or if a part is empty. `form` is the expected
/// form.
std::pair<std::string, std::string> splitPair(std::string_view text, char separator, std::string_view form);

}  // namespace criu::options
