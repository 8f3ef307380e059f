//! Which units were open around a step, each chain of them kept once: what stands for a stack where a trace has none.

use rustc_hash::FxHashMap;
use trace::SiteId;

/// Number of a chain in [`Chains`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub(super) struct Chain(u32);

impl Chain {
    pub(super) const NONE: Chain = Chain(0);
}

#[derive(Default)]
pub(super) struct Chains {
    /// Where the innermost unit began, the chain around it, and how many there are.
    links: Vec<(SiteId, Chain, u32)>,
    known: FxHashMap<(Chain, SiteId), Chain>,
}

impl Chains {
    /// Deeper, only the outermost units are told apart: a recursion would have a chain for each of its depths.
    const DEEPEST: u32 = 64;

    /// The chain inside another one, where a unit begins at a site.
    pub(super) fn within(&mut self, outer: Chain, site: SiteId) -> Chain {
        let depth = self.link(outer).map_or(0, |(_, _, depth)| depth);
        if depth == Chains::DEEPEST {
            return outer;
        }
        let links = &mut self.links;
        *self.known.entry((outer, site)).or_insert_with(|| {
            links.push((site, outer, depth + 1));
            Chain(links.len() as u32)
        })
    }

    /// Where the units began, the innermost first.
    pub(super) fn sites(&self, chain: Chain) -> Vec<SiteId> {
        let first = self.link(chain);
        std::iter::successors(first, |(_, outer, _)| self.link(*outer)).map(|(site, _, _)| site).collect()
    }

    fn link(&self, chain: Chain) -> Option<(SiteId, Chain, u32)> {
        self.links.get((chain.0 as usize).checked_sub(1)?).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chains_are_kept_once_and_have_a_deepest() {
        let mut chains = Chains::default();
        let outer = chains.within(Chain::NONE, SiteId(3));
        let inner = chains.within(outer, SiteId(5));
        assert_eq!(chains.within(outer, SiteId(5)), inner);
        assert_eq!(chains.sites(inner), [SiteId(5), SiteId(3)]);
        assert!(chains.sites(Chain::NONE).is_empty());
        let deep = (0..1000).fold(Chain::NONE, |chain, _| chains.within(chain, SiteId(1)));
        assert_eq!(chains.sites(deep).len() as u32, Chains::DEEPEST);
    }
}
