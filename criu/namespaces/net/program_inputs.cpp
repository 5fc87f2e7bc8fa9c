// SPDX-License-Identifier: GPL-2.0-only
#include "criu/namespaces/net/program_inputs.hpp"

#include <linux/netlink.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <string>
#include <vector>

#include "criu/base/error.hpp"

namespace criu::namespaces {
namespace {

constexpr bool isDigit(char c) noexcept {
    return c >= '0' && c <= '9';
}
constexpr bool isLetter(char c) noexcept {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

template <std::size_t N>
bool isAmong(const std::string_view (&list)[N], std::string_view text) {
    return std::find(std::begin(list), std::end(list), text) != std::end(list);
}

/// Throws Error for control characters: the programs never write them, and may parse them in another way than criu.
void requireText(std::string_view text, const char* what) {
    if (std::any_of(text.begin(), text.end(), [](char c) {
            return (static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\t') || c == '\x7f';
        }))
        fail("{} hold a control character", what);
}

struct Word {
    std::string text;
    bool open = false;  ///< true if a quotation mark isn't closed
};

/// Splits a line into words in the same way as iptables-restore. A quotation mark may be anywhere. Between quotation
/// marks, a backslash escapes the next character.
std::vector<Word> wordsOf(std::string_view line) {
    std::vector<Word> words;
    bool quoted = false;
    bool escaped = false;
    bool inWord = false;
    for (const char c : line) {
        if (!quoted && (c == ' ' || c == '\t')) {
            inWord = false;
            continue;
        }
        if (!inWord)
            words.emplace_back();
        inWord = true;
        if (quoted && !escaped && c == '\\') {
            escaped = true;
            continue;
        }
        if (c == '"' && !escaped)
            quoted = !quoted;
        else
            words.back().text += c;
        escaped = false;
    }
    if (quoted)
        words.back().open = true;
    return words;
}

/// Short options that iptables-save writes. All other short options are commands, or name files or programs (-M, -t).
constexpr std::string_view kRuleOptions[] = {"-A", "-s", "-d", "-i", "-o", "-p", "-m", "-j", "-g", "-f", "-c"};
/// Options of kRuleOptions whose value is the next word, even if it begins with '-'.
constexpr std::string_view kWithValue[] = {"-A", "-s", "-d", "-i", "-o", "-p", "-m", "-j", "-g", "-c"};
/// Options whose value may be any text.
constexpr std::string_view kTextOptions[] = {"--comment",     "--log-prefix", "--nflog-prefix",
                                             "--ulog-prefix", "--string",     "--hex-string"};
/// Options of iptables that criu refuses in rules. getopt_long(3) also accepts their abbreviations.
constexpr std::string_view kForbidden[] = {"--modprobe", "--table", "--match", "--jump", "--goto"};

void requireOption(const std::string& word) {
    if (word.starts_with("--")) {
        const std::string_view name = std::string_view(word).substr(0, word.find('='));
        constexpr std::size_t kLeast = 3;  // minimum length of a long option; "--" alone ends the options
        for (const std::string_view forbidden : kForbidden)
            if (name.size() < kLeast || forbidden.starts_with(name))
                fail("a rule has the option {}", word);
        return;
    }
    const bool number = std::all_of(word.begin() + 1, word.end(), isDigit);
    if (!number && !isAmong(kRuleOptions, word))
        fail("a rule has the option {}", word);
}

void requireRule(std::string_view line) {
    const std::vector<Word> words = wordsOf(line);
    std::size_t at = 0;
    if (words.at(0).text.starts_with('['))
        ++at;  // counters
    if (at >= words.size() || words[at].text != "-A")
        fail("\"{}\" is no rule", line);
    if (words.back().open)
        fail("\"{}\" has an open quotation mark", line);
    // True if the previous word is an option of an extension: the present word may then be its value, even if it looks
    // like an option.
    bool perhapsValue = false;
    for (; at < words.size(); ++at) {
        const std::string& word = words[at].text;
        if (word.starts_with('-'))
            requireOption(word);
        const std::string_view value = at + 1 < words.size() ? std::string_view(words[at + 1].text) : "";
        if (isAmong(kWithValue, word) && (value.empty() || value.starts_with('-')))
            fail("a rule's option {} has no value", word);
        if (isAmong(kTextOptions, word) && !perhapsValue) {
            ++at;  // skips the value, because it may begin with '-'
            continue;
        }
        if ((word == "-m" || word == "-j" || word == "-g") && value.find('/') != std::string_view::npos)
            fail("a rule has the extension or target \"{}\"", value);
        perhapsValue = word.starts_with('-') && !isAmong(kWithValue, word);
    }
}

/// Throws Error if a line isn't of the form ":NAME POLICY [packets:bytes]".
void requireChain(std::string_view line) {
    const std::vector<Word> words = wordsOf(line);
    const bool good = words.size() >= 2 && words.size() <= 3 && words[0].text.size() > 1 &&
                      std::none_of(words.begin(), words.end(),
                                   [](const Word& word) { return word.open || word.text.starts_with('-'); });
    const bool policy = good && (words[1].text == "ACCEPT" || words[1].text == "DROP");
    if (!policy && !(words.size() >= 2 && words[1].text == "-" && words[0].text.size() > 1))
        fail("\"{}\" is no chain", line);
}

}  // namespace

void requireSavedByIp(std::string_view saved, std::uint16_t type) {
    constexpr std::size_t kMagic = sizeof(std::uint32_t);
    if (saved.size() < kMagic)
        fail("what ip wrote is cut off");
    for (std::size_t at = kMagic; at < saved.size();) {
        nlmsghdr header{};
        if (saved.size() - at >= sizeof(header))
            std::memcpy(&header, saved.data() + at, sizeof(header));
        if (header.nlmsg_len < sizeof(header) || header.nlmsg_len > saved.size() - at)
            fail("what ip wrote is cut off at byte {}", at);
        if (header.nlmsg_type != type)
            fail("what ip wrote holds a message of type {} instead of {}", header.nlmsg_type, type);
        at += std::min<std::size_t>(NLMSG_ALIGN(header.nlmsg_len), saved.size() - at);
    }
}

void requireIptablesRules(std::string_view saved) {
    requireText(saved, "rules of iptables");
    while (!saved.empty()) {
        const std::size_t end = std::min(saved.find('\n'), saved.size());
        std::string_view line = saved.substr(0, end);
        saved.remove_prefix(std::min(end + 1, saved.size()));
        if (line.find_first_not_of(" \t") == std::string_view::npos || line.starts_with('#') || line == "COMMIT")
            continue;
        if (line.starts_with('*')) {
            if (line.size() == 1 || !std::all_of(line.begin() + 1, line.end(), isLetter))
                fail("\"{}\" is no table", line);
        } else if (line.starts_with(':')) {
            requireChain(line);
        } else {
            requireRule(line);
        }
    }
}

void requireNftablesRuleset(std::string_view saved) {
    requireText(saved, "nftables rules");
    constexpr std::string_view kForbiddenWords[] = {"include", "define", "redefine", "undefine"};
    int depth = 0;
    bool atStart = true;  // true where a statement begins
    for (std::size_t at = 0; at < saved.size();) {
        const char c = saved[at];
        if (c == '#') {
            at = std::min(saved.find('\n', at), saved.size());
        } else if (c == '"') {
            const std::size_t end = saved.find('"', at + 1);
            if (end == std::string_view::npos || (atStart && depth == 0))
                fail("nftables rules have a text where none belongs");
            at = end + 1;
            atStart = false;
        } else if (c == '\n' || c == ';' || c == '{' || c == '}') {
            if (c == '{' && atStart && depth == 0)
                fail("nftables rules have a bracket outside of tables");
            depth += c == '{' ? 1 : (c == '}' ? -1 : 0);
            if (depth < 0)
                fail("nftables rules have a bracket too many");
            atStart = true;
            ++at;
        } else if (c == '\\' || c == '$') {
            fail("nftables rules have a {}", c);
        } else if (isLetter(c) || c == '_') {
            // Finds the end of the word in the same way as the lexer of nft, which takes the longest word that begins
            // at a position.
            const auto* const end = std::find_if_not(saved.begin() + at, saved.end(), [](char next) {
                return isLetter(next) || isDigit(next) || next == '_' || next == '-' || next == '.' || next == '/';
            });
            const std::string_view word = saved.substr(at, static_cast<std::size_t>(end - saved.begin()) - at);
            if (isAmong(kForbiddenWords, word))
                fail("nftables rules have a command \"{}\"", word);
            if (atStart && depth == 0 && word != "table")
                fail("nftables rules have a command \"{}\" outside of tables", word);
            atStart = false;
            at += word.size();
        } else {
            if (c != ' ' && c != '\t') {
                if (atStart && depth == 0)
                    fail("nftables rules have a {} outside of tables", c);
                atStart = false;
            }
            ++at;
        }
    }
    if (depth != 0)
        fail("nftables rules are cut off");
}

}  // namespace criu::namespaces
