//! Components of the call graph, callees first.

use rayon::prelude::*;

use crate::calls::Calls;
use crate::class::{MethodId, Program};

/// Strongly connected components of the methods that `wanted` accepts, each after all that it calls. Tarjan's
/// algorithm without recursion: call chains are longer than stacks.
pub fn components(calls: &Calls, count: usize, wanted: impl Fn(MethodId) -> bool) -> Vec<Vec<MethodId>> {
    components_of(|method| calls.callees(method), count, wanted).iter().map(<[MethodId]>::to_vec).collect()
}

/// What has to be known before each method: what it calls and, if that is wanted, what its tasks run.
pub(super) struct Needed {
    /// By method, where there are such tasks.
    lists: Vec<Option<Box<[MethodId]>>>,
}

impl Needed {
    pub(super) fn of(program: &Program, calls: &Calls, with_tasks: bool) -> Needed {
        let count = if with_tasks { program.known_method_count() } else { 0 };
        let list = |method: u32| {
            let tasks: Vec<MethodId> = calls.tasks(program, MethodId(method)).collect();
            let callees = calls.callees(MethodId(method)).iter().copied();
            (!tasks.is_empty()).then(|| callees.chain(tasks).collect())
        };
        Needed { lists: (0..count as u32).into_par_iter().map(list).collect() }
    }

    fn by<'n>(&'n self, calls: &'n Calls, method: MethodId) -> &'n [MethodId] {
        let own = self.lists.get(method.index()).and_then(Option::as_deref);
        own.unwrap_or_else(|| calls.callees(method))
    }

    /// Components of the wanted methods, grouped so that each group needs only earlier ones.
    pub(super) fn levels(
        &self,
        calls: &Calls,
        count: usize,
        wanted: impl Fn(MethodId) -> bool,
    ) -> Vec<Vec<Vec<MethodId>>> {
        let components = components_of(|method| self.by(calls, method), count, wanted);
        levels(|method| self.by(calls, method), components.iter().map(<[MethodId]>::to_vec).collect())
    }
}

/// Groups of methods that call each other, each after all that it calls.
#[derive(Default)]
pub(crate) struct Components {
    /// Group by group; each in order.
    members: Vec<MethodId>,
    /// Where each group ends.
    ends: Vec<u32>,
}

impl Components {
    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = &[MethodId]> + ExactSizeIterator {
        (0..self.len()).map(|index| self.get(index))
    }

    pub(crate) fn get(&self, index: usize) -> &[MethodId] {
        let start = if index == 0 { 0 } else { self.ends[index - 1] };
        &self.members[start as usize..self.ends[index] as usize]
    }
}

/// The same for any graph over methods.
pub(crate) fn components_of<'c>(
    callees: impl Fn(MethodId) -> &'c [MethodId],
    count: usize,
    wanted: impl Fn(MethodId) -> bool,
) -> Components {
    const UNSEEN: u32 = u32::MAX;
    let mut number = vec![UNSEEN; count];
    let mut low = vec![0u32; count];
    let mut on_stack = vec![false; count];
    let mut stack = Vec::new();
    let mut open: Vec<(usize, usize)> = Vec::new();
    let mut next = 0;
    let mut components = Components::default();
    for root in 0..count {
        if number[root] != UNSEEN || !wanted(MethodId(root as u32)) {
            continue;
        }
        open.push((root, 0));
        while let Some((method, followed)) = open.last_mut() {
            let method = *method;
            if *followed == 0 && number[method] == UNSEEN {
                number[method] = next;
                low[method] = next;
                next += 1;
                stack.push(method);
                on_stack[method] = true;
            }
            let callees = callees(MethodId(method as u32));
            match callees.get(*followed) {
                Some(callee) => {
                    *followed += 1;
                    let callee = callee.index();
                    if !wanted(MethodId(callee as u32)) {
                        continue;
                    }
                    if number[callee] == UNSEEN {
                        open.push((callee, 0));
                    } else if on_stack[callee] {
                        low[method] = low[method].min(number[callee]);
                    }
                }
                None => {
                    open.pop();
                    if let Some((caller, _)) = open.last() {
                        low[*caller] = low[*caller].min(low[method]);
                    }
                    if low[method] == number[method] {
                        let start = components.members.len();
                        while let Some(member) = stack.pop() {
                            on_stack[member] = false;
                            components.members.push(MethodId(member as u32));
                            if member == method {
                                break;
                            }
                        }
                        components.members[start..].sort_unstable();
                        components.ends.push(components.members.len() as u32);
                    }
                }
            }
        }
    }
    components
}

/// Components grouped so that each group needs only earlier ones.
fn levels<'n>(needed: impl Fn(MethodId) -> &'n [MethodId], components: Vec<Vec<MethodId>>) -> Vec<Vec<Vec<MethodId>>> {
    let highest = components.iter().flatten().map(|method| method.index() + 1).max().unwrap_or(0);
    let mut level_of = vec![None; highest];
    let mut levels: Vec<Vec<Vec<MethodId>>> = Vec::new();
    for component in components {
        let below = component
            .iter()
            .flat_map(|method| needed(*method))
            .filter_map(|callee| level_of.get(callee.index()).copied().flatten())
            .max();
        let level = below.map_or(0, |below: usize| below + 1);
        for method in &component {
            level_of[method.index()] = Some(level);
        }
        if levels.len() == level {
            levels.push(Vec::new());
        }
        levels[level].push(component);
    }
    levels
}
