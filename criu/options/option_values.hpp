// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "criu/model/options.hpp"

/// Text to value, for every kind of option argument. All throw Error saying what is wrong and what is allowed.
namespace criu::options {

/// A decimal number from `least` to `most`, nothing around it.
std::int64_t parseNumber(std::string_view text, std::int64_t least, std::int64_t most);

/// Bytes: a decimal number, optionally with K, M or G (powers of 1024, either case).
std::uint64_t parseSize(std::string_view text);

/// What --verbosity and -v[v…|NUMBER] mean on top of the present level. Nothing adds one, "v"s add one each besides
/// the letter that introduced them; anything else is a number, and 0 if it isn't one. Levels above Debug are Debug.
LogLevel parseVerbosity(std::optional<std::string_view> text, LogLevel present);

/// A list of fpu, cpu, ins, all, none, each with an optional ^ in front that takes it away, applied to `caps`. Unless
/// nothing is left, Image is on.
model::CpuCaps parseCpuCaps(std::string_view text, model::CpuCaps caps);

model::CgroupMode parseCgroupMode(std::string_view text);
model::NetworkLock parseNetworkLock(std::string_view text);
model::PreDumpMode parsePreDumpMode(std::string_view text);
model::PageCodec parsePageCodec(std::string_view text);
/// A multiple of a page, up to what readers take at once.
std::uint64_t parseCompressBlock(std::string_view text);
model::FileValidation parseFileValidation(std::string_view text);
model::LsmProfile parseLsmProfile(std::string_view text);
model::JoinNs parseJoinNs(std::string_view text);
/// The same in parts, as requests have it; `ids` is UID,GID or absent.
model::JoinNs makeJoinNs(std::string_view kind, std::string_view target, std::optional<std::string_view> ids);
model::CgroupRoot parseCgroupRoot(std::string_view text);

/// TYPE[ID][:VALUE]. Types that aren't built yet are refused.
model::External parseExternal(std::string_view text);
/// The same as one more of the options; passes over what clients say without meaning it.
void addExternal(std::string_view text, model::Options& options);

/// fd[N]:NAME or debug[N]:TEXT, added to the matching list.
void parseInheritFd(std::string_view text, model::Options& options);

/// Adds to options.inheritFds. Throws Error if the name is empty, or there already.
void addInheritFd(model::InheritFd inherit, model::Options& options);

/// KEY:VALUE or "auto".
void parseExtMount(std::string_view text, model::Options& options);

/// INO[,INO…], socket inodes.
std::vector<std::uint32_t> parseInodes(std::string_view text);

/// A,B,C; empty items are dropped.
std::vector<std::string> parseList(std::string_view text);

/// Splits at the first `separator`; throws when there is none or either part is empty. `form` is what's expected.
std::pair<std::string, std::string> splitPair(std::string_view text, char separator, std::string_view form);

}  // namespace criu::options
