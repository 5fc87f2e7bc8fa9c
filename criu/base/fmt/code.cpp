// SPDX-License-Identifier: GPL-2.0-only
// Code of fmt for programs that don't use its shared library (scripts/archives.cmake). fmt's headers contain all of it.
#include <fmt/format-inl.h>

// Instantiations of templates that fmt's headers only declare.
template FMT_API auto fmt::detail::thousands_sep_impl(locale_ref) -> thousands_sep_result<char>;
template FMT_API auto fmt::detail::decimal_point_impl(locale_ref) -> char;
#if FMT_VERSION < 100000
template FMT_API void fmt::detail::vformat_to(buffer<char>&, string_view, basic_format_args<FMT_BUFFER_CONTEXT(char)>,
                                              locale_ref);
#endif
