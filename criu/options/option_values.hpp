// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "criu/model/options.hpp"

/// Parsers of option arguments. All parsers throw Error with the defect and the allowed values.
namespace criu::options {

/// Parses a decimal number from `least` to `most`. Accepts no other characters.
std::int64_t parseNumber(std::string_view text, std::int64_t least, std::int64_t most);

/// Parses a number of bytes: a decimal number, optionally followed by K, M or G (powers of 1024; also in lower case).
std::uint64_t parseSize(std::string_view text);

/// Returns the level for --verbosity or -v[v…|NUMBER], at most Debug. No text adds one to the level `present`, and each
/// "v" adds one more. Other text must be a number, which is the level; an empty text means 0.
LogLevel parseVerbosity(std::optional<std::string_view> text, LogLevel present);

/// Changes `caps` by a list of the words fpu, cpu, ins, all and none. The prefix ^ removes a word's capability. Sets
/// Image unless the result is empty.
model::CpuCaps parseCpuCaps(std::string_view text, model::CpuCaps caps);

model::CgroupMode parseCgroupMode(std::string_view text);
model::NetworkLock parseNetworkLock(std::string_view text);
model::PreDumpMode parsePreDumpMode(std::string_view text);
model::PageCodec parsePageCodec(std::string_view text);
/// Parses the size of a compressed block: a multiple of the page size, at most the largest block that readers accept.
std::uint64_t parseCompressBlock(std::string_view text);
model::ImageIo parseImageIo(std::string_view text);
model::FileValidation parseFileValidation(std::string_view text);
model::LsmProfile parseLsmProfile(std::string_view text);
model::JoinNs parseJoinNs(std::string_view text);
/// Makes the argument of --join-ns from the fields of a request. `ids` is "UID,GID", or nullopt.
model::JoinNs makeJoinNs(std::string_view kind, std::string_view target, std::optional<std::string_view> ids);
model::InetMapping parseInetMapping(std::string_view text);
/// Parses a kind of loss, or "all".
LossSet parseLoss(std::string_view text);
/// Parses a range of ids, FROM-TO. Neither 0 nor the number for "no id" may be in it.
model::IdRange parseIdRange(std::string_view text);
model::CgroupRoot parseCgroupRoot(std::string_view text);

/// Parses TYPE[ID][:VALUE]. Throws Error for types that this build doesn't support.
model::External parseExternal(std::string_view text);
/// Parses an external resource, and adds it to the options. Ignores texts that clients send by mistake.
void addExternal(std::string_view text, model::Options& options);

/// Parses fd[N]:NAME or debug[N]:TEXT, and adds it to the corresponding list of the options.
void parseInheritFd(std::string_view text, model::Options& options);

/// Adds a descriptor to options.inheritFds. Throws Error if the name is empty, or if the list already contains it.
void addInheritFd(model::InheritFd inherit, model::Options& options);

/// Parses KEY:VALUE or "auto", and stores it in the options.
void parseExtMount(std::string_view text, model::Options& options);

/// Parses the inodes of sockets in the form INO[,INO…].
std::vector<std::uint32_t> parseInodes(std::string_view text);

/// Parses a list in the form A,B,C. Omits empty items.
std::vector<std::string> parseList(std::string_view text);

/// Splits a text at the first `separator`. Throws Error if the text has no separator, or if a part is empty. `form` is
/// the expected form, for the message.
std::pair<std::string, std::string> splitPair(std::string_view text, char separator, std::string_view form);

}  // namespace criu::options
