import { addDays, daysBetween } from "./days.js";

export const LOAN_DAYS = 28;
export const RENEWAL_DAYS = 21;

export function lend(titleId, reader, today) {
  return { titleId, reader, from: today, due: addDays(today, LOAN_DAYS), renewals: 0 };
}

// How many days late a loan comes back; 0 when it is in time.
export function daysLate(loan, today) {
  return Math.max(0, daysBetween(loan.due, today));
}
